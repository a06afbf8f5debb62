import Foundation
import SluiceBackend

/// The processes that are killed.
enum Processes {
    /// A server, and in its process a consumer. It says at which port it listens, and runs until it is killed.
    static func serve(_ folder: String, port: Int) async throws {
        let server = try SyncServer(ServerConfiguration(dataFolder: folder, port: UInt16(port), isDevelopment: true))
        let database = try await server.database(World.name, models: World.models)
        say("serving at \(try server.start())")
        try await inner(database).run { try await deriveInner($0) }
    }

    /// A store, and beside it a consumer.
    ///
    /// - Parameter isOnce: whether to end when nothing is left; else it runs until it is killed.
    static func consume(_ url: String, _ path: String, isOnce: Bool) async throws {
        let store = try await Store.open(
            StoreConfiguration(path: path, models: World.models, sync: SyncConfiguration(url: url)))
        let consumer = store.consumer("outer", of: store.objects(Reading.self).where { $0.value >= 0 })
        say("consuming")
        guard isOnce else { return try await consumer.run { try await deriveOuter($0) } }
        let count = try await consumer.runOnce { try await deriveOuter($0) }
        try await store.uploaded()
        say("\(count) at last")
        await store.close()
    }

    static func inner(_ database: ServerDatabase) -> Consumer<Reading> {
        database.consumer("inner", of: database.objects(Reading.self).where { $0.value >= 0 })
    }

    @Sendable static func deriveInner(_ batch: ConsumerBatch<Reading>) async throws {
        try await batch.commit { transaction in
            if batch.isReset { try transaction.delete(all: transaction.objects(InnerCopy.self)) }
            for item in batch.upserts {
                try transaction.upsert(InnerCopy(id: item.value.id, value: item.value.value))
            }
            for gone in batch.removals { try transaction.delete(InnerCopy.self, key: gone.key) }
            try transaction.insert(Tally(batch, of: "inner"))
        }
    }

    @Sendable static func deriveOuter(_ batch: ConsumerBatch<Reading>) async throws {
        try await batch.commit { transaction in
            for item in batch.upserts {
                try transaction.upsert(OuterCopy(id: item.value.id, value: item.value.value))
            }
            for gone in batch.removals { try transaction.delete(OuterCopy.self, key: gone.key) }
            try transaction.insert(Tally(batch, of: "outer"))
        }
    }

    static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
}
