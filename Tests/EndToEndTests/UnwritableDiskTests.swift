import Foundation
import Sluice
import TestSupport
import Testing

/// A disk that is full or read-only keeps nobody from reading; what was refused is stored once there is room.
@Suite(.serialized)
struct UnwritableDiskTests {
    private func insert(_ numbers: Range<Int64>, into store: Store) async throws {
        try await store.write { transaction in
            for number in numbers {
                let payload = Value.string(String(repeating: "x", count: 1_000))
                try transaction.insert(
                    Record(Fixture.entry.get(), ["number": .int(number), "payload": payload]))
            }
        }
    }

    private func expectRefusal(of store: Store, _ reason: String) async throws {
        let error = await #expect(throws: SyncError.self) { try await store.uploaded(timeout: .seconds(2)) }
        #expect(error?.message.contains("the server cannot write its database") == true, "\(String(describing: error))")
        #expect(error?.message.contains(reason) == true, "\(String(describing: error))")
    }

    private func expectEntries(_ count: Int, at url: String) async throws {
        let found = try await Tool.run("query", url, "Entry")
        #expect(found.lines.count == count, "\(found.diagnostics)")
    }

    @Test(.onSmallDisk) func aDiskThatFillsUpUnderAServerRefusesWritesServesReadsAndTakesThemOnceThereIsRoom()
        async throws
    {
        let disk = try #require(SmallDisk())
        try await withServer(folder: disk.path + "/data") { server in
            try await Fixture.withStore(server.url()) { store in
                try await insert(0..<10, into: store)
                try await store.uploaded(timeout: waitMax)
                disk.fill()
                // More than the free end of the last page of the log.
                try await insert(10..<1_000, into: store)
                try await expectRefusal(of: store, "no space is left on its disk")
                try await expectEntries(10, at: server.url())
                let list = ["databases", "list", "--data=\(disk.path)/data", "--format=table"]
                let states = try await Tool.run(list)
                #expect(states.lines.contains { $0.hasPrefix("test\tunwritable\t") }, "\(states)")
                disk.clear()
                try await store.uploaded(timeout: waitMax)
                try await expectEntries(1_000, at: server.url())
            }
        }
    }

    @Test(.onSmallDisk) func usersLogInByPasswordWhileTheDiskIsFull() async throws {
        let disk = try #require(SmallDisk())
        let folder = disk.path + "/data"
        let password = disk.path + "/password"
        try "correct horse".write(toFile: password, atomically: true, encoding: .utf8)
        try await withServer(folder: folder) { server in
            try await Fixture.withStore(server.url()) { try await $0.addPlane("N1") }
        }
        let added = try await run(
            "/bin/sh", ["-c", "SLUICE_PASSWORD='correct horse' \(Tool.path) users add --data=\(folder) --name=ada"])
        #expect(added?.code == 0, "\(added?.diagnostics ?? "")")
        try await withServer(folder: folder, options: ["--users", "--allow-everything"], isDevelopment: false) {
            server in
            disk.fill()
            let arguments = ["query", server.url(), "Plane", "--user=ada", "--password-file=\(password)"]
            let found = try await Tool.run(arguments)
            #expect(found.code == 0 && found.lines.count == 1, "\(found.diagnostics)")
            disk.clear()
        }
    }

    @Test(.onSmallDisk) func usersLogInAtAServerThatIsStartedOnADiskThatMayNotBeWritten() async throws {
        let disk = try #require(SmallDisk())
        let folder = disk.path + "/data"
        let password = NSTemporaryDirectory() + "sluice-password-\(UUID().uuidString)"
        try "correct horse".write(toFile: password, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: password) }
        try await withServer(folder: folder) { server in
            try await Fixture.withStore(server.url()) { try await $0.addPlane("N1") }
        }
        let secret = "--password-file=\(password)"
        func users(_ action: String, _ name: String) async throws -> ChildProcess.Exit {
            try await Tool.run("users", action, "--data=\(folder)", "--name=\(name)", secret)
        }
        #expect(try await users("add", "ada").code == 0)
        #expect(disk.remount(isReadOnly: true))
        try await withServer(folder: folder, options: ["--users", "--allow-everything"], isDevelopment: false) {
            server in
            let login = ["--user=ada", secret]
            let found = try await Tool.run(["query", server.url(), "Plane"] + login)
            #expect(found.code == 0 && found.lines.count == 1, "\(found.diagnostics)")
            let said = server.process.diagnostics
            #expect(said.contains("users can be read and not changed, and logins are not stored"), "\(said)")
            #expect(said.contains("server.users' cannot be written: Read-only file system"), "\(said)")
            func ready() async throws -> String {
                try await HTTPAnswer.get("/health/ready", port: server.port).body
            }
            let health = try await HTTPAnswer.get("/health/ready", port: server.port)
            #expect(health.status == 200 && health.body.contains("\"writable\":false,"), "\(health.body)")
            #expect(health.body.contains("\"users\":{\"writable\":false}"), "\(health.body)")
            // Nothing about users changes, and the command says why.
            let added = try await users("add", "bob")
            #expect(added.code == 1 && added.diagnostics.contains("cannot be written: Read-only file system"))
            #expect(try await Tool.run("users", "list", "--data=\(folder)").lines == ["ada\t0 logins"])
            #expect(try await Tool.run(["query", server.url(), "Plane", "--user=bob", secret]).code == 1)

            #expect(disk.remount(isReadOnly: false))
            try await wait(for: "the file of users to be written") {
                server.process.diagnostics.contains("users can be changed again")
            }
            #expect(try await users("add", "bob").code == 0)
            #expect(try await Tool.run(["query", server.url(), "Plane", "--user=bob", secret]).code == 0)
            try await wait(for: "the server to be writable") {
                try await ready().contains("\"writable\":true,\"databases\"")
            }
            #expect(try await ready().contains("\"users\":{\"writable\":true}"))
        }
    }

    @Test(.onSmallDisk, arguments: [true, false])
    func aServerThatIsStartedOnADiskThatCannotBeWrittenServesReadsAndTakesWritesOnceItCan(
        isFull: Bool
    ) async throws {
        let disk = try #require(SmallDisk())
        let port = try UnusedPort.next()
        let folder = disk.path + "/data"
        try await withServer(folder: folder, port: port) { server in
            try await Fixture.withStore(server.url()) { store in
                try await insert(0..<10, into: store)
                try await store.uploaded(timeout: waitMax)
                try await server.kill()
                if isFull { disk.fill() } else { #expect(disk.remount(isReadOnly: true)) }
                try await withServer(folder: folder, port: port) { again in
                    try await expectEntries(10, at: again.url())
                    try await insert(10..<20, into: store)
                    let reason = isFull ? "no space is left on its disk" : "it may not be written"
                    try await expectRefusal(of: store, reason)
                    // One that the server does not know is not stored, and reads too.
                    try await Fixture.withStore(again.url()) { new in
                        let found = try await new.found("Entry")
                        #expect(found.count == 10)
                        try await insert(20..<30, into: new)
                        try await expectRefusal(of: new, reason)
                        if isFull { disk.clear() } else { #expect(disk.remount(isReadOnly: false)) }
                        try await store.uploaded(timeout: waitMax)
                        try await new.uploaded(timeout: waitMax)
                    }
                    try await expectEntries(30, at: again.url())
                    #expect(again.process.diagnostics.contains("opened for reading only"))
                }
            }
        }
    }

    @Test(.onSmallDisk) func aStoreOnADiskThatCannotBeWrittenIsReadAndRefusesToWrite() async throws {
        let disk = try #require(SmallDisk())
        let configuration = StoreConfiguration(path: disk.path + "/store", schema: try Fixture.schema())
        let store = try await Store.open(configuration)
        try await insert(0..<10, into: store)
        await store.close()
        disk.fill()
        let reading = try await Store.open(configuration)
        let found = try reading.records("Entry").fetch()
        #expect(found.count == 10)
        let error = await #expect(throws: StoreError.self) { try await insert(10..<11, into: reading) }
        #expect(error?.code == .full)
        await reading.close()
        disk.clear()
        let again = try await Store.open(configuration)
        try await insert(10..<20, into: again)
        await again.close()
    }
}
