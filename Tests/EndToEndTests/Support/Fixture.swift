import Sluice
import TestSupport
import Testing

/// The classes that these tests write, and stores for them.
enum Fixture {
    static let counter = Result {
        try ClassSchema(
            "Counter", primaryKey: "name",
            properties: [Property("name", .scalar(.string)), Property("value", .scalar(.int))])
    }
    static let entry = Result {
        try ClassSchema(
            "Entry",
            properties: [
                Property("writer", .scalar(.int)), Property("number", .scalar(.int)),
                Property("payload", .scalar(.string)),
            ])
    }
    static let plane = Result {
        try ClassSchema(
            "Plane", primaryKey: "tail",
            properties: [Property("tail", .scalar(.string)), Property("seats", .scalar(.int))])
    }
    static let flight = Result {
        try ClassSchema(
            "Flight", primaryKey: "id",
            properties: [
                Property("id", .scalar(.int)), Property("plane", .link("Plane")), Property("stops", .links("Plane")),
                Property("delay", .scalar(.double, isOptional: true)), Property("note", .scalar(.string)),
                Property("at", .scalar(.date, isOptional: true)),
            ])
    }

    static func schema() throws -> Schema {
        try Schema([counter.get(), entry.get(), plane.get(), flight.get()])
    }

    /// Opens a store that reconnects quickly after a lost connection.
    ///
    /// - Parameter path: the store's file; nil for memory.
    static func store(_ url: String, path: String? = nil) async throws -> Store {
        var sync = SyncConfiguration(url: url)
        sync.reconnectDelay = .milliseconds(20)
        sync.reconnectDelayMax = .milliseconds(200)
        return try await Store.open(StoreConfiguration(path: path, schema: schema(), sync: sync))
    }

    /// Opens a store while `body` runs.
    static func withStore<Result>(
        _ url: String, path: String? = nil, _ body: (Store) async throws -> Result
    ) async throws -> Result {
        let store = try await store(url, path: path)
        do {
            let result = try await body(store)
            await store.close()
            return result
        } catch {
            await store.close()
            throw error
        }
    }
}

extension Store {
    /// Adds a plane and waits until the server has it.
    func addPlane(_ tail: String, seats: Int64 = 1) async throws {
        let plane = try Record(Fixture.plane.get(), ["tail": .string(tail), "seats": .int(seats)])
        try await write { try $0.upsert(plane) }
        try await uploaded(timeout: waitMax)
    }

    /// The results of a query on the server.
    func found(_ query: String) async throws -> [Record] { try await records(query).synced(timeout: waitMax) }
}

extension ServerProcess {
    /// Checks that the server is alive and serves a well-behaved client, in a database of its own.
    func expectService(_ database: String = "service") async throws {
        try await Fixture.withStore(url(database)) { store in
            let tail = "N\(UInt32.random(in: 0 ... .max))"
            try await store.addPlane(tail, seats: 7)
            let found = try await store.found("Plane WHERE tail == '\(tail)'")
            #expect(found.map { $0["seats"] } == [.int(7)])
        }
        #expect(process.isRunning)
    }
}
