#if PostgreSQL

import Sluice
import SluiceModel
import TestSupport

/// What the writers of a test write: entries, each named by its writer and number, and a counter of all.
enum Ledger {
    static let entry = Result {
        try ClassSchema(
            "Entry", primaryKey: "name",
            properties: [Property("name", .scalar(.string)), Property("writer", .scalar(.int))])
    }
    static let counter = Result {
        try ClassSchema(
            "Counter", primaryKey: "name",
            properties: [Property("name", .scalar(.string)), Property("value", .scalar(.int))])
    }

    /// Opens a store that notices soon that its server has gone, unless it has a log.
    static func store(
        _ urls: [String], path: String? = nil, classes: [ClassSchema]? = nil,
        access: SyncConfiguration.Access = .readWrite,
        credentials: Credentials = .anonymous, log: LogSink? = nil, whenReset: (@Sendable () -> Void)? = nil
    ) async throws -> Store {
        var sync = SyncConfiguration(urls: urls, credentials: credentials)
        sync.reconnectDelay = .milliseconds(20)
        sync.reconnectDelayMax = .milliseconds(200)
        // Nobody stops a server at which users log in, and on a machine with much to do their passwords take a while.
        if credentials == .anonymous, log == nil { sync.heartbeat = .milliseconds(500) }
        // A process that was stopped takes connections, and says nothing.
        sync.connectTimeout = .seconds(2)
        sync.access = access
        let schema = try Schema(classes ?? [entry.get(), counter.get()])
        var configuration = StoreConfiguration(path: path, schema: schema, sync: sync)
        configuration.log = log
        if let whenReset { configuration.clientReset.before = { _ in whenReset() } }
        return try await Store.open(configuration)
    }

    /// Makes the counter, so that writers only add to it.
    static func begin(_ url: String) async throws {
        let store = try await store([url])
        let counter = try Record(Self.counter.get(), ["name": .string("all")])
        try await store.write { try $0.upsert(counter) }
        try await store.uploaded(timeout: waitMax)
        await store.close()
    }

    /// What a store without a past is given by a server: the names of the entries, and the counter.
    static func content(_ url: String) async throws -> (names: [String], count: Int64?) {
        let store = try await store([url])
        let names = try await store.records("Entry").synced(timeout: waitMax).compactMap { $0["name"]?.text }
        let counted = try await store.records("Counter").synced(timeout: waitMax).first?["value"]
        await store.close()
        guard case .int(let count)? = counted else { return (names, nil) }
        return (names, count)
    }
}

extension Value {
    /// The text; nil for anything else.
    var text: String? { if case .string(let text) = self { text } else { nil } }
}

#endif
