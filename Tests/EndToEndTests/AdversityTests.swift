import Foundation
import Glibc
import Sluice
import SluiceModel
import TestSupport
import Testing

/// The server with damaged or wrong files, full disks and ports that are in use.
@Suite(.serialized)
struct AdversityTests {
    // MARK: Files

    /// Makes a database with a thousand planes, and returns the bytes of its file.
    private func makeDatabase(_ folder: String) async throws -> Data {
        try await withServer(folder: folder) { server in
            try await Fixture.withStore(server.url("whole")) { store in
                let planes = try (0..<1_000).map { number in
                    try Record(Fixture.plane.get(), ["tail": .string("N\(number)"), "seats": .int(1)])
                }
                try await store.write { for plane in planes { try $0.insert(plane) } }
                try await store.uploaded(timeout: waitMax)
            }
            server.process.signal(SIGTERM)
            #expect(try await server.process.finish().code == 0)
        }
        return try Data(contentsOf: URL(filePath: folder + "/whole.sluicedb"))
    }

    @Test func filesThatAreNoDatabasesOfOursAreRefusedAndLeftAloneAndOthersServed() async throws {
        try await withFolder { folder in
            let whole = try await makeDatabase(folder)
            var newer = whole
            newer.replaceSubrange(60..<64, with: [0, 0, 0, 99])
            var foreign = whole
            foreign.replaceSubrange(68..<72, with: [1, 2, 3, 4])
            var damaged = whole
            damaged.replaceSubrange(100..<4_096, with: Data(repeating: 0xA5, count: 3_996))
            let client = folder + "/client.sluice"
            try await Fixture.store("ws://127.0.0.1:1/x", path: client).close()
            let files: [(name: String, content: Data, log: String)] = [
                (
                    "text",
                    Data(
                        "This is no database, but it is long enough for a header. ".utf8
                            + [UInt8](repeating: 0, count: 200)), "is not a database"
                ),
                ("newer", newer, "newer"), ("foreign", foreign, "another program"), ("damaged", damaged, "damaged"),
                ("cut", whole.prefix(6_000), "damaged"),
                ("client", try Data(contentsOf: URL(filePath: client)), "client's store"),
            ]
            for file in files { try file.content.write(to: URL(filePath: "\(folder)/\(file.name).sluicedb")) }
            try await withServer(folder: folder) { server in
                for file in files {
                    let exit = try await Tool.run("query", server.url(file.name), "Plane", "--timeout=1")
                    #expect(exit.code == 1, "\(file.name)")
                    #expect(exit.lines.isEmpty, "\(file.name)")
                    let told =
                        switch file.name {
                        case "newer": "it was written by a newer version"
                        case "text", "damaged", "cut": "is damaged"
                        default: "is no database of a server"
                        }
                    #expect(
                        exit.diagnostics.contains("could not open the database: ")
                            && exit.diagnostics.contains(told), "\(file.name): \(exit.diagnostics)")
                    #expect(
                        server.process.diagnostics.contains(file.log), "\(file.name): \(server.process.diagnostics)")
                    let after = try Data(contentsOf: URL(filePath: "\(folder)/\(file.name).sluicedb"))
                    #expect(after == file.content, "\(file.name) was changed")
                }
                try await server.expectService()
                let found = try await Tool.run("query", server.url("whole"), "Plane")
                #expect(found.lines.count == 1_000, "\(found.diagnostics)")
            }
        }
    }

    @Test func aDatabaseInUseIsNotServedTwice() async throws {
        try await withFolder { folder in
            try await withServer(folder: folder) { server in
                try await Fixture.withStore(server.url()) { try await $0.addPlane("N1") }
            }
            let lock = open(folder + "/test.sluicedb-lock", O_RDWR | O_CLOEXEC)
            #expect(flock(lock, LOCK_EX | LOCK_NB) == 0)
            try await withServer(folder: folder) { server in
                let exit = try await Tool.run("query", server.url(), "Plane", "--timeout=1")
                #expect(exit.code == 1)
                #expect(exit.diagnostics.contains("could not open the database"), "\(exit.diagnostics)")
                #expect(server.process.diagnostics.contains("open already"))
                // The database can be served as soon as the other process has released its lock.
                _ = flock(lock, LOCK_UN)
                close(lock)
                #expect(try await Tool.run("query", server.url(), "Plane").lines.count == 1)
            }
        }
    }

    @Test func aDataFolderInUseIsNamedUntilItsServerIsGone() async throws {
        try await withFolder { folder in
            try await withServer(folder: folder) { first in
                let exit = try await Tool.run("serve", "--data=\(folder)", "--listen=127.0.0.1:0", "--dev")
                #expect(exit.code == 1)
                #expect(exit.lines.isEmpty)
                #expect(
                    exit.diagnostics.contains("'\(folder)' cannot be used: another server has it open"),
                    "\(exit.diagnostics)")
                try await first.expectService()
            }
            try await withServer(folder: folder) { try await $0.expectService() }
        }
    }

    @Test func aDataFolderThatCannotBeWrittenIsNamedAtTheStart() async throws {
        try await withFolder { folder in
            guard geteuid() == 0,
                try await run("mount", ["-t", "tmpfs", "-o", "ro", "tmpfs", folder])?.code == 0
            else { return print("skipped: a file system that is only read cannot be mounted here") }
            let exit = try await Tool.run("serve", "--data=\(folder)", "--listen=127.0.0.1:0", "--dev")
            try await run("umount", ["-l", folder])
            #expect(exit.code == 1)
            #expect(exit.lines.isEmpty)
            #expect(exit.diagnostics.contains("the file system is read-only"), "\(exit.diagnostics)")
        }
    }

    // MARK: Starting

    @Test func aPortThatIsTakenIsNamed() async throws {
        try await withServer { server in
            let exit = try await withFolder { folder in
                try await Tool.run("serve", "--data=\(folder)", "--listen=127.0.0.1:\(server.port)", "--dev")
            }
            #expect(exit.code == 1)
            #expect(
                exit.diagnostics.contains("\(server.port)") && exit.diagnostics.contains("in use"),
                "\(exit.diagnostics)")
            #expect(exit.lines.isEmpty)
            try await server.expectService()
        }
    }

    @Test func aDataFolderThatCannotBeMadeIsNamed() async throws {
        for folder in ["/dev/null/data", "/proc/nowhere"] {
            let exit = try await Tool.run("serve", "--data=\(folder)", "--listen=127.0.0.1:0", "--dev")
            #expect(exit.code == 1)
            #expect(exit.diagnostics.contains(folder), "\(exit.diagnostics)")
        }
    }

    // MARK: A full disk

    @Test func aFullDiskStopsUploadsAndLosesNothingAndTheyGoOnWhenThereIsSpace() async throws {
        try await withFolder { folder in
            guard geteuid() == 0,
                try await run("mount", ["-t", "tmpfs", "-o", "size=48m", "tmpfs", folder])?.code == 0
            else { return print("skipped: a small file system cannot be mounted here") }
            do {
                try await fillAndFree(folder)
                try await run("umount", ["-l", folder])
            } catch {
                try await run("umount", ["-l", folder])
                throw error
            }
        }
    }

    private func fillAndFree(_ folder: String) async throws {
        let ballast = folder + "/ballast"
        try Data(repeating: 1, count: 42 << 20).write(to: URL(filePath: ballast))
        try await withServer(folder: folder) { server in
            try await Fixture.withStore(server.url()) { store in
                var generator = SeededGenerator(seed: 5)
                let filling = generator.text(100_000)
                var acknowledged = 0
                for number in 0..<80 {
                    let entry = try Record(
                        Fixture.entry.get(),
                        ["number": .int(Int64(number)), "payload": .string(filling)])
                    try await store.write { try $0.insert(entry) }
                    if acknowledged == number {
                        do {
                            try await store.uploaded(timeout: .seconds(1))
                            acknowledged = number + 1
                        } catch is SyncError {}
                    }
                }
                #expect((5..<80).contains(acknowledged), "the disk was full after \(acknowledged)")
                #expect(server.process.diagnostics.contains("no space is left"), "\(server.process.diagnostics)")
                let line = #"{"op":"insert","class":"Plane","key":"N1"}"#
                let refused = try await Tool.run("write", server.url(), "--timeout=1", input: line)
                // A small write may find room where a large one does not; else it is refused, and says why.
                #expect(refused.code == 0 || refused.diagnostics.contains("the server"), "\(refused.diagnostics)")
                try FileManager.default.removeItem(atPath: ballast)
                try await store.uploaded(timeout: waitMax)
                try await server.kill()
                try await withServer(folder: folder) { again in
                    try await Fixture.withStore(again.url()) { other in
                        let numbers = try await other.found("Entry SORT(number ASC)").map { try $0.value("number") }
                        #expect(numbers == (0..<80).map { .int($0) })
                        #expect(try await other.found("Plane").count == (refused.code == 0 ? 1 : 0))
                    }
                }
            }
        }
    }
}
