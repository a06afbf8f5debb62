import Foundation
import Glibc
import Sluice
import SluiceModel
import TestSupport
import Testing

/// Real database files with damaged pages: every command ends with a message and an exit code, and the server goes on.
@Suite(.serialized)
struct DamagedFilesTests {
    /// Makes a database of many entries and one plane.
    private func make(_ folder: String) async throws -> Data {
        try await withServer(folder: folder) { server in
            try await Fixture.withStore(server.url()) { store in
                let entries = try (0..<3_000).map { number in
                    try Record(Fixture.entry.get(), ["number": .int(number), "payload": .string("entry \(number) .")])
                }
                try await store.write { for entry in entries { try $0.insert(entry) } }
                try await store.addPlane("N1")
            }
            server.process.signal(SIGTERM)
            #expect(try await server.process.finish().code == 0)
        }
        return try Data(contentsOf: URL(filePath: folder + "/test.sluicedb"))
    }

    /// Removes the headers of all pages that contain an entry.
    private func damage(_ folder: String, _ whole: Data) throws {
        var file = whole
        var generator = SeededGenerator(seed: 1)
        var start = 1
        var count = 0
        while let page = PageDamage.page(of: "entry 1500 .", in: file, from: start) {
            PageDamage.beheaded.apply(to: &file, page: page, using: &generator)
            start = page + 1
            count += 1
        }
        try #require(count > 0)
        try file.write(to: URL(filePath: folder + "/test.sluicedb"))
    }

    @Test func everyCommandOnADamagedDatabaseEndsAndWhatCanBeReadIsServed() async throws {
        try await withFolder { folder in
            let whole = try await make(folder)
            try damage(folder, whole)
            let line = #"{"op":"insert","class":"Plane","key":"N2"}"#
            let rows = folder + "/planes.jsonl"
            try #"{"tail":"N3","seats":3}"#.write(toFile: rows, atomically: true, encoding: .utf8)
            for round in 0..<2 {
                try await withServer(folder: folder) { server in
                    let url = server.url()
                    for command in [
                        ["query", url, "Entry", "--once"], ["query", url, "Entry", "--watch"],
                        ["export", url, "Entry"],
                    ] {
                        let exit = try await Tool.run(command + ["--timeout=5m"])
                        #expect(exit.code == 1, "\(command)")
                        #expect(exit.diagnostics.contains("test.sluicedb is damaged (SQLite 11"), "\(exit.diagnostics)")
                    }
                    // The server serves what it can read.
                    #expect(try await Tool.run("query", url, "Plane").lines.count == 1)
                    #expect(try await Tool.run("export", url, "Plane").lines.count == 1)
                    #expect(try await Tool.run("explain", url, "Entry").code == 0)
                    #expect(try await Tool.run("subscriptions", url).code == 0)
                    // The status is reported, and says that the database is damaged.
                    let status = try await Tool.run("status", url)
                    #expect(status.code == 1)
                    #expect(
                        status.lines.contains { $0.contains("\"damage\":\"the server's database file test.sluicedb") })
                    #expect(status.diagnostics.contains("damaged"))
                    let list = try await Tool.run("databases", "list", "--data=\(folder)", "--format=table")
                    #expect(list.lines.contains { $0.hasPrefix("test\tdamaged") }, "\(list)")
                    // Nothing is written.
                    for command in [
                        ["write", url, "--timeout=5m"], ["import", url, "Plane", rows, "--timeout=5m"],
                    ] {
                        let refused = try await Tool.run(command, input: command[0] == "write" ? line : "")
                        #expect(refused.code == 1, "\(command)")
                        #expect(refused.diagnostics.contains("takes no writes"), "\(round): \(refused.diagnostics)")
                    }
                    #expect(try await Tool.run("query", url, "Plane").lines.count == 1)
                    try await server.expectService("other")
                    let logged =
                        server.process.diagnostics.components(separatedBy: "the server serves what can be read").count
                        - 1
                    #expect(logged == 1)
                }
            }
            // Writes made meanwhile wait in the client's outbox, and arrive once the database is restored.
            let path = folder + "/client.sluice"
            try await withServer(folder: folder) { server in
                _ = try await Tool.run("query", server.url(), "Entry")
                try await Fixture.withStore(server.url(), path: path) { store in
                    let error = await #expect(throws: SyncError.self) { try await store.addPlane("N4") }
                    #expect(error?.code == .databaseDamaged)
                    // The client shows its own writes.
                    let planes = try await store.found("Plane")
                    #expect(planes.count == 2)
                }
            }
            try whole.write(to: URL(filePath: folder + "/test.sluicedb"))
            try await withServer(folder: folder) { server in
                try await Fixture.withStore(server.url(), path: path) { try await $0.uploaded(timeout: waitMax) }
                #expect(try await Tool.run("query", server.url(), "Plane").lines.count == 2)
                #expect(try await Tool.run("status", server.url()).code == 0)
                #expect(try await Tool.run("query", server.url(), "Entry").lines.count == 3_000)
            }
        }
    }

    @Test func aDatabaseThatCannotBeOpenedIsRefusedForGoodAndOthersAreServed() async throws {
        try await withFolder { folder in
            let whole = try await make(folder)
            for damage in [PageDamage.noise, .cutOff] {
                var file = whole
                var generator = SeededGenerator(seed: 1)
                damage.apply(to: &file, page: damage == .noise ? 0 : 7, using: &generator)
                try file.write(to: URL(filePath: folder + "/test.sluicedb"))
                try await withServer(folder: folder) { server in
                    let url = server.url()
                    for command in [
                        ["query", url, "Entry", "--once"], ["query", url, "Entry", "--watch"],
                        ["export", url, "Entry"],
                        ["status", url], ["explain", url, "Entry"], ["subscriptions", url], ["schema", url],
                    ] {
                        let exit = try await Tool.run(command + ["--timeout=5m"])
                        #expect(exit.code == 1, "\(command)")
                        #expect(exit.lines.isEmpty)
                        #expect(exit.diagnostics.contains("test.sluicedb is damaged"), "\(exit.diagnostics)")
                    }
                    try await server.expectService("other")
                    let logged = server.process.diagnostics.components(separatedBy: "could not be opened").count - 1
                    #expect(logged == 1)
                }
            }
        }
    }
}
