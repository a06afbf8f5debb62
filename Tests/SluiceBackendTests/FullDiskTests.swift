import SluiceBackend
import TestSupport
import Testing

/// A server whose database has no room.
struct FullDiskTests {
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

            let text = String(repeating: "x", count: 50_000)
            var count = 0
            var found: ServerError?
            while found == nil, count < 100 {
                do {
                    try await nyc.write { try $0.insert(Note(text: text)) }
                    count += 1
                } catch let error as ServerError { found = error }
            }
            let error = try #require(found)
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
}
