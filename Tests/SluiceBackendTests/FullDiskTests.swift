import SluiceBackend
import TestSupport
import Testing

/// A server whose database has no room, or may not be written.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct FullDiskTests {
    /// 50 kB.
    private let text = String(repeating: "x", count: 50_000)

    /// Writes notes until the database takes no more.
    ///
    /// - Returns: how many it has taken, and why it takes no more.
    private func writeUntilRefused(by database: ServerDatabase) async throws -> (count: Int, error: ServerError) {
        var count = 0
        var found: ServerError?
        while found == nil, count < 100 {
            do {
                try await database.write { [text] in try $0.insert(Note(text: text)) }
                count += 1
            } catch let error as ServerError { found = error }
        }
        return (count, try #require(found))
    }

    @Test func aWriteThatFindsNoRoomSaysWhyAndWritesNothingAndReadingGoesOn() async throws {
        try await withFolder { folder in
            var configuration = ServerConfiguration(dataFolder: folder, port: 0, isDevelopment: true)
            // A full quota is a full disk to everything above.
            configuration.quotas.databaseByteCountMax = 1 << 20
            let server = try SyncServer(configuration)
            try server.start()
            let nyc = try await server.database("nyc", models: models)
            try await nyc.putFlight("UA1", delay: 1)
            var changes = nyc.objects(Flight.self).changes.makeAsyncIterator()
            #expect(try #require(try await changes.next()).insertions.count == 1)

            let (count, error) = try await writeUntilRefused(by: nyc)
            #expect(error.code == .database)
            #expect(error.message.contains("'nyc'") && error.message.contains("no space is left"), "\(error)")
            #expect(!error.message.contains(folder))
            #expect(try await nyc.objects(Note.self).count() == count)
            #expect(try await nyc.object(Flight.self, key: "UA1")?.delay == 1)

            // What makes no room is refused again, and what does is taken.
            await #expect(throws: ServerError.self) { try await nyc.write { try $0.insert(Note(text: text)) } }
            await server.stop()
            configuration.quotas.databaseByteCountMax = 4 << 20
            let larger = try SyncServer(configuration)
            let again = try await larger.database("nyc", models: models)
            #expect(try await again.objects(Note.self).count() == count)
            try await again.write { try $0.insert(Note(text: text)) }
            #expect(try await again.objects(Note.self).count() == count + 1)
            await larger.stop()
        }
    }

    /// A write of the process and the upload of a client find a disk that is full, or may not be written.
    @Test(.onSmallDisk, arguments: [true, false])
    func aDiskThatCannotBeWrittenLosesNothingServesReadsAndTakesWritesAgainOnceItCan(isFull: Bool) async throws {
        let disk = try #require(SmallDisk())
        let network = LoopbackNetwork()
        var configuration = ServerConfiguration(
            dataFolder: disk.path + "/data", host: "server", isDevelopment: true)
        configuration.loopback = network
        let first = try SyncServer(configuration)
        try first.start()
        try await first.database("nyc", models: models).putFlight("UA1", delay: 1)
        var server = first
        if !isFull {
            // A file system with a file that is open for writing stays writable.
            await first.stop()
            #expect(disk.remount(isReadOnly: true))
            server = try SyncServer(configuration)
            try server.start()
        }
        let nyc = try await server.database("nyc", models: models)
        var changes = nyc.objects(Flight.self).changes.makeAsyncIterator()
        #expect(try #require(try await changes.next()).insertions.count == 1)
        if isFull { disk.fill() }

        let reason = isFull ? "no space is left on its disk" : "it may not be written"
        let (count, error) = try await writeUntilRefused(by: nyc)
        #expect(error.code == .database)
        #expect(error.message.contains("'nyc'") && error.message.contains(reason), "\(error)")
        #expect(!error.message.contains(disk.path))
        var sync = SyncConfiguration(url: "ws://server/nyc")
        sync.loopback = network
        sync.reconnectDelay = .milliseconds(1)
        sync.reconnectDelayMax = .milliseconds(20)
        let store = try await Store.open(StoreConfiguration(models: models, sync: sync))
        try await store.write { transaction in
            for _ in 0..<40 { try transaction.insert(Note(text: text)) }
        }
        let held = await #expect(throws: SyncError.self) { try await store.uploaded(timeout: .milliseconds(500)) }
        #expect(held?.message.contains(reason) == true, "\(String(describing: held))")
        // Reading goes on, for the process and for clients.
        #expect(try await nyc.objects(Note.self).count() == count)
        #expect(try await nyc.object(Flight.self, key: "UA1")?.delay == 1)
        #expect(try await store.objects(Flight.self).synced(timeout: waitMax).map(\.delay) == [1])
        #expect(try store.outgoingCount() == 1)

        if isFull { disk.clear() } else { #expect(disk.remount(isReadOnly: false)) }
        try await store.uploaded(timeout: waitMax)
        try await nyc.putFlight("UA2", delay: 2)
        #expect(try await nyc.objects(Note.self).count() == count + 40)
        #expect(try await nyc.objects(Flight.self).sorted(by: \.id).fetch().map(\.delay) == [1, 2])
        await store.close()
        await server.stop()
        // All of it is on the disk.
        let again = try SyncServer(configuration)
        let after = try await again.database("nyc", models: models)
        #expect(try await after.objects(Note.self).count() == count + 40)
        #expect(try await after.objects(Flight.self).count() == 2)
        await again.stop()
    }
}
