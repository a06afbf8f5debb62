import Foundation
import Glibc
import Sluice
import Synchronization
import TestSupport
import Testing

/// A server with many stores that is drained and started again, as a deploy does. `SLUICE_DRAINED_STORES` says how many.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct DrainTests {
    private static let storeCount =
        ProcessInfo.processInfo.environment["SLUICE_DRAINED_STORES"].flatMap { Int($0) } ?? 100

    /// How many results an observer saw last.
    private final class Seen: Sendable {
        let count = Mutex(0)
    }

    /// A store with an observer of what it writes, and the last results of that.
    private struct Writer {
        let number: Int
        let store: Store
        let observer: NotificationToken
        let seen: Seen

        init(_ number: Int, _ url: String) async throws {
            self.number = number
            store = try await Fixture.store(url)
            let seen = Seen()
            self.seen = seen
            observer = try store.records("Entry WHERE writer == \(number)").observe { change in
                seen.count.withLock { $0 = change.results.count }
            }
        }

        func write(_ step: Int) async throws {
            let values: [String: Value] = ["writer": .int(Int64(number)), "number": .int(Int64(step))]
            try await store.write { try $0.insert(Record(Fixture.entry.get(), values)) }
        }
    }

    /// Does the same for all writers, some at a time.
    private func each(_ writers: [Writer], _ body: @escaping @Sendable (Writer) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, writer) in writers.enumerated() {
                if index >= 32 { try await group.next() }
                group.addTask { try await body(writer) }
            }
            try await group.waitForAll()
        }
    }

    @Test func nothingIsLostOrDoubledWhileManyStoresGoThroughADrain() async throws {
        try await withFolder { folder in
            let server = try await ServerProcess.start(
                folder: folder, port: try UnusedPort.next(), options: ["--drain=1s"])
            var writers: [Writer] = []
            for number in 0..<Self.storeCount { try await writers.append(Writer(number, server.url())) }
            try await each(writers) { writer in
                try await writer.write(0)
                try await writer.store.uploaded(timeout: waitMax)
            }
            server.process.signal(SIGTERM)
            try await each(writers) { try await $0.write(1) }
            let end = try await server.process.finish()
            #expect(end.code == 0, "\(end.diagnostics)")
            #expect(!end.diagnostics.contains("error"), "\(end.diagnostics)")
            try await each(writers) { try await $0.write(2) }

            let next = try await ServerProcess.start(folder: folder, port: server.port)
            try await each(writers) { writer in
                try await writer.store.uploaded(timeout: waitMax)
                try await wait(for: "what writer \(writer.number) wrote") { writer.seen.count.withLock { $0 == 3 } }
            }
            let all = try await Fixture.withStore(next.url()) { try await $0.found("Entry") }
            #expect(all.count == 3 * Self.storeCount)
            let pairs = Set(all.map { [$0["writer"], $0["number"]] })
            #expect(pairs.count == 3 * Self.storeCount)
            for writer in writers { await writer.store.close() }
            try await next.kill()
        }
    }
}
