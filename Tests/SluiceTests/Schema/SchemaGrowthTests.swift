import Sluice
import SluiceModel
import SluiceTesting
import Testing

/// When a server's schema grows, and how classes and properties are removed.
@Suite(.timeLimit(.minutes(10))) struct SchemaGrowthTests {
    private let server: TestServer

    init() async throws { server = try TestServer() }

    private func car(_ price: PropertyType = .scalar(.double)) throws -> ClassSchema {
        try ClassSchema(
            "Car", primaryKey: "vin", properties: [Property("vin", .scalar(.string)), Property("price", price)])
    }

    private func insert(_ vin: String, _ price: Value, to store: Store) async throws {
        try await store.write { try $0.insert(Record(store.schema.classes[0], ["vin": .string(vin), "price": price])) }
        try await store.uploaded()
    }

    /// Reconnects a store, after the server has ended all sessions.
    private func reopen(_ store: Store) async throws {
        server.cut(store)
        // The store has noticed the end once its queue reaches this call.
        try await store.core.perform { _ in }
        server.restore(store)
        try await store.connected()
    }

    /// The schema of the server, as seen by a store that declares nothing.
    private func serverSchema() async throws -> Schema {
        let store = try await server.open(schema: Schema())
        try await store.connected()
        defer { _ = store }
        return store.schema
    }

    @Test func aDeferredClassComesWithItsFirstObject() async throws {
        let store = try await server.open(schema: Schema())
        try await store.connected()
        let declared = try car()
        try await store.core.perform { try $0.declare([declared], isDeferred: true) }
        try await store.uploaded()
        #expect(try await serverSchema() == Schema())
        try await insert("A", .double(1), to: store)
        #expect(try await serverSchema() == Schema([declared]))
    }

    @Test func aDeferredPropertyComesWithItsFirstObject() async throws {
        let first = try await server.open(schema: try Schema([car()]))
        try await insert("A", .double(1), to: first)
        let store = try await server.open(schema: Schema())
        try await store.connected()
        let more = try ClassSchema(
            "Car", primaryKey: "vin",
            properties: [Property("vin", .scalar(.string)), Property("seats", .scalar(.int, isOptional: true))])
        try await store.core.perform { try $0.declare([more], isDeferred: true) }
        #expect(try await serverSchema()[0].propertyNames == ["vin", "price"])
        try await insert("B", .double(2), to: store)
        #expect(try await serverSchema()[0].propertyNames == ["vin", "price", "seats"])
    }

    @Test func aDeferredClassSurvivesALostConnection() async throws {
        let store = try await server.open(schema: Schema())
        try await store.connected()
        let declared = try car()
        try await store.core.perform { try $0.declare([declared], isDeferred: true) }
        server.cut(store)
        try await store.write { try $0.insert(Record(declared, ["vin": .string("A"), "price": .double(1)])) }
        server.restore(store)
        try await store.uploaded()
        #expect(try await serverSchema() == Schema([declared]))
    }

    @Test func whatOnlyTheServerTaughtDoesNotComeBackAfterItsRemoval() async throws {
        let writer = try await server.open(schema: Schema())
        try await writer.connected()
        let wrong = try car(.scalar(.date, isOptional: true))
        try await writer.core.perform { try $0.declare([wrong], isDeferred: true) }
        try await insert("A", .null, to: writer)
        let reader = try await server.open(schema: Schema())
        let results = try await synced("Car", in: reader)
        #expect(results == ["A"])
        _ = try await reader.core.removeFromSchema(class: "Car", property: "price", timeout: nil)
        for store in [writer, reader] { try await reopen(store) }
        #expect(try await serverSchema()[0].propertyNames == ["vin"])
        try await writer.write { try $0.insert(Record(writer.schema.classes[0], ["vin": .string("B")])) }
        try await writer.uploaded()
        #expect(try await serverSchema()[0].propertyNames == ["vin"])
        #expect(try await synced("Car", in: reader) == ["A", "B"])
        // A value of the property adds it again.
        try await insert("C", .date(Timestamp(microseconds: 1)), to: writer)
        #expect(try await serverSchema()[0].propertyNames == ["vin", "price"])
    }

    private func synced(_ query: String, in store: Store) async throws -> Set<String> {
        try await store.connected()
        let results = try store.records(query)
        _ = try await results.synced()
        return Set(
            try results.fetch().compactMap { record in
                if case .string(let vin) = record["vin"] { vin } else { nil }
            })
    }

    @Test func aModelThatDeclaresARemovedPropertyAddsItAgain() async throws {
        let store = try await server.open(schema: try Schema([car()]))
        try await store.connected()
        _ = try await store.core.removeFromSchema(class: "Car", property: "price", timeout: nil)
        #expect(try await serverSchema()[0].propertyNames == ["vin"])
        try await reopen(store)
        try await insert("A", .double(1), to: store)
        #expect(try await serverSchema()[0].propertyNames == ["vin", "price"])
    }

    @Test func anObserverOfARemovedClassIsToldThatItIsGone() async throws {
        let writer = try await server.open(schema: try Schema([car()]))
        try await writer.connected()
        await writer.close()
        let reader = try await server.open(schema: Schema())
        try await reader.connected()
        let recorder = try EventRecorder(reader.records("Car"))
        try await recorder.complete()
        _ = try await reader.core.removeFromSchema(class: "Car", property: nil, timeout: nil)
        try await reopen(reader)
        let event = try await recorder.event { $0.state == .error }
        #expect(event.subscription.error?.code == .unknownName)
        #expect(try await serverSchema() == Schema())
    }

    @Test(
        arguments: [
            ("Car", nil, "Car has 1 object; delete them before you remove the class"),
            (
                "Car", "price",
                "1 object has a value for Car.price; set it to the default everywhere before you remove the property"
            ),
            ("Car", "vin", "Car.vin is the primary key, which names the objects; it goes with its class"),
            ("Bus", nil, "the server has no class 'Bus'"),
            ("Car", "wheels", "the server's class 'Car' has no property 'wheels'"),
        ] as [(String, String?, String)])
    func whatIsInUseStays(className: String, property: String?, reason: String) async throws {
        let store = try await server.open(schema: try Schema([car()]))
        try await insert("A", .double(1), to: store)
        let error = await #expect(throws: SyncError.self) {
            try await store.core.removeFromSchema(class: className, property: property, timeout: nil)
        }
        #expect(error?.message == reason)
        try await insert("B", .double(1), to: store)
        #expect(try await serverSchema() == Schema([car()]))
    }

    @Test func aReaderRemovesNothing() async throws {
        let store = try await server.open(schema: try Schema([car()]))
        try await store.connected()
        let reader = try await server.open { $0.sync?.access = .readOnly }
        try await reader.connected()
        let error = await #expect(throws: SyncError.self) {
            try await reader.core.removeFromSchema(class: "Car", property: nil, timeout: nil)
        }
        #expect(error?.code == .notPermitted)
    }
}
