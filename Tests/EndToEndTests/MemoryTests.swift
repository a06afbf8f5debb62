import Foundation
import TestSupport
import Testing

/// What a server keeps of the memory that it once needed.
@Suite(.serialized)
struct MemoryTests {
    /// The number of arenas of the C library besides the first: each is a range of 64 MiB that begins at a multiple of
    /// that, of which the end is not in use yet.
    private func arenaCount(_ process: Int32) throws -> Int {
        let size: UInt64 = 64 << 20
        let file = try #require(FileHandle(forReadingAtPath: "/proc/\(process)/maps"))
        let maps = try file.readToEnd() ?? Data()
        return String(decoding: maps, as: UTF8.self).split(separator: "\n").count { line in
            let fields = line.split(separator: " ")
            let range = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            return fields[1] == "---p" && fields.count == 5 && range[1] % size == 0 && range[1] - range[0] < size
        }
    }

    @Test func theThreadsOfAServerShareAFewArenas() async throws {
        try await withServer { server in
            // Each database has a queue of its own, which runs on whichever thread is free.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<24 {
                    group.addTask {
                        try await Fixture.withStore(server.url("db\(number)")) { store in
                            for plane in 0..<5 { try await store.addPlane("N\(plane)") }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let count = try arenaCount(server.process.processID)
            #expect(count <= max(2, ProcessInfo.processInfo.activeProcessorCount), "\(count)")
        }
    }
}
