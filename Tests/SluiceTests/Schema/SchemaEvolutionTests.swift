import Sluice
import SluiceModel
import SluiceTesting
import Testing

/// Two versions of a program on one server: the rules of docs/evolution.md.
@Suite(.timeLimit(.minutes(10))) struct SchemaEvolutionTests {
    private let server: TestServer

    init() throws { server = try TestServer() }

    private static func schema(_ properties: Property...) throws -> Schema {
        try Schema([
            ClassSchema("Car", primaryKey: "vin", properties: [Property("vin", .scalar(.string))] + properties)
        ])
    }

    private func write(_ vin: String, _ name: String, _ value: Value, to store: Store) async throws {
        try await store.write { transaction in
            try transaction.upsert(Record(store.schema.classes[0], ["vin": .string(vin), name: value]))
        }
    }

    private func values(_ name: String, in store: Store) async throws -> [String: Value] {
        let results = try store.records("Car SORT(vin ASC)")
        _ = try await results.synced()
        var values: [String: Value] = [:]
        for record in try results.fetch() {
            guard case .string(let vin) = record["vin"] else { continue }
            values[vin] = record[name]
        }
        return values
    }

    /// Brings a store back that the server has asked to come again.
    private func settle(_ stores: Store...) async throws {
        for store in stores {
            server.cut(store)
            // The store has noticed once its queue comes to this.
            try await store.core.perform { _ in }
            server.restore(store)
            try await store.connected()
            try await store.uploaded()
        }
    }

    @Test func whoObservesWhatIsHereGoesOnWhenAPropertyOfTheQueryIsRenamed() async throws {
        let old = try await server.open(schema: try Self.schema(Property("cost", .scalar(.int))))
        let query = try old.records("Car WHERE cost > 1")
        let shown = try EventRecorder(query.cached())
        let synced = try EventRecorder(query)
        try await synced.complete()
        let new = try await server.open(
            schema: try Self.schema(Property("price", .scalar(.double), was: ["cost"])))
        try await new.connected()
        try await write("A", "price", .double(2), to: new)
        try await settle(old, new)
        try await shown.event { $0.results.count == 1 }
        // By either name the two kinds of observers stay apart.
        for name in ["cost", "price"] {
            let other = try EventRecorder(try old.records("Car WHERE " + name + " > 1").cached())
            try await other.event { $0.results.count == 1 }
            other.token.stop()
        }
        #expect(try old.subscriptions().count == 1)
        synced.token.stop()
        try await shown.event { $0.results.isEmpty && !$0.removals.isEmpty }
        #expect(try old.subscriptions().isEmpty)
    }

    @Test func aRenamedPropertyKeepsItsValuesAndAnswersToBothNames() async throws {
        let old = try await server.open(schema: try Self.schema(Property("cost", .scalar(.int), isIndexed: true)))
        try await write("A", "cost", .int(1), to: old)
        try await old.uploaded()
        #expect(try await values("cost", in: old) == ["A": .int(1)])
        server.cut(old)
        try await write("B", "cost", .int(2), to: old)
        let new = try await server.open(
            schema: try Self.schema(Property("price", .scalar(.double), isIndexed: true, was: ["cost"])))
        try await new.connected()
        try await write("C", "price", .double(3.5), to: new)
        try await new.uploaded()
        try await settle(old, new)
        for store in [old, new, try await server.open(schema: Schema())] {
            #expect(try await values("price", in: store) == ["A": .double(1), "B": .double(2), "C": .double(3.5)])
            #expect(try await values("cost", in: store) == ["A": .double(1), "B": .double(2), "C": .double(3.5)])
            for query in ["Car WHERE cost > 1", "Car WHERE price > 1 SORT(cost ASC)"] {
                let results = try store.records(query)
                _ = try await results.synced()
                #expect(try results.count() == 2, "\(query)")
            }
            #expect(store.schema.classes[0].properties.map(\.name) == ["vin", "price"])
        }
        try await write("D", "cost", .int(4), to: old)
        try await old.uploaded()
        #expect(try await values("price", in: new)["D"] == .double(4))
    }

    @Test func anObserverSeesRowsInTheNewTypeAndGoesOn() async throws {
        let old = try await server.open(schema: try Self.schema(Property("cost", .scalar(.int))))
        try await write("A", "cost", .int(1), to: old)
        let recorder = try EventRecorder(old.records("Car WHERE cost > 0 SORT(cost ASC)"))
        try await recorder.complete()
        let new = try await server.open(schema: try Self.schema(Property("price", .scalar(.double), was: ["cost"])))
        try await new.connected()
        try await settle(old)
        try await write("B", "price", .double(0.5), to: new)
        try await new.uploaded()
        let event = try await recorder.event { $0.results.count == 2 }
        #expect(event.results.map { $0["price"] } == [.double(0.5), .double(1)])
    }

    @Test func aNumberThatADoubleDoesNotHoldKeepsTheTypeInt() async throws {
        let old = try await server.open(schema: try Self.schema(Property("value", .scalar(.int))))
        try await write("A", "value", .int(1 << 53 + 1), to: old)
        try await old.uploaded()
        let new = try await server.open(schema: try Self.schema(Property("value", .scalar(.double))))
        let error = await #expect(throws: SyncError.self) { try await new.connected() }
        #expect(error?.message.contains("1 of its values are beyond 2^53") == true, "\(error?.message ?? "")")
        try await write("A", "value", .int(1 << 53), to: old)
        try await old.uploaded()
        let again = try await server.open(schema: try Self.schema(Property("value", .scalar(.double))))
        #expect(try await values("value", in: again) == ["A": .double(9_007_199_254_740_992)])
    }

    @Test func whatWasRemovedAndDeclaredAnewWithAnotherTypeBeginsAnewOnClientsThatLearntIt() async throws {
        let first = try await server.open(schema: Schema())
        try await first.connected()
        let wrong = try Self.schema(Property("value", .scalar(.date, isOptional: true))).classes
        try await first.core.perform { try $0.declare(wrong, isDeferred: true) }
        try await write("A", "value", .null, to: first)
        try await first.uploaded()
        let reader = try await server.open(schema: Schema())
        try await reader.connected()
        #expect(try await values("value", in: reader) == ["A": .null])
        _ = try await reader.core.removeFromSchema(class: "Car", property: "value", timeout: nil)
        let second = try await server.open(schema: try Self.schema(Property("value", .scalar(.double))))
        try await second.connected()
        try await write("B", "value", .double(2), to: second)
        try await second.uploaded()
        try await settle(first, reader, second)
        for store in [first, reader, second] {
            #expect(try await values("value", in: store) == ["A": .double(0), "B": .double(2)])
        }
    }

    @Test func aReaderWhoseTypesAreWiderReadsAnOlderServer() async throws {
        let old = try await server.open(schema: try Self.schema(Property("cost", .scalar(.int))))
        try await write("A", "cost", .int(1), to: old)
        try await old.uploaded()
        let wider = try Self.schema(Property("price", .scalar(.double, isOptional: true), was: ["cost"]))
        let reader = try await server.open(schema: wider) { $0.sync?.access = .readOnly }
        #expect(try await values("price", in: reader) == ["A": .double(1)])
        #expect(try await values("cost", in: old) == ["A": .int(1)])
    }

    @Test func aPropertyThatIsGivenByTwoOfItsNamesIsRefused() async throws {
        let store = try await server.open(
            schema: try Self.schema(Property("price", .scalar(.double), was: ["cost"]), Property("note", .scalar(.int)))
        )
        let declared = store.schema.classes[0]
        let error = #expect(throws: RecordError.self) {
            try Record(declared, ["vin": .string("A"), "price": .double(1), "cost": .int(2)])
        }
        #expect(error?.message == "Car.price is given twice, by its name and a former one; give it once")
        try await write("A", "cost", .int(1), to: store)
        let car = Identity(className: "Car", key: .string("A"))
        await #expect(throws: RecordError.self) {
            try await store.write { try $0.update(car, set: ["price": .double(1), "cost": .int(2)]) }
        }
        let inexact = await #expect(throws: RecordError.self) {
            try await store.write { try $0.update(car, set: ["cost": .int(1 << 53 + 1)]) }
        }
        #expect(inexact?.message == "Car.price is double, which holds no int beyond 2^53 exactly")
        try await store.write { try $0.update(car, set: ["cost": .int(1 << 53)], add: ["price": .int(-1)]) }
        #expect(try store.records("Car").fetch().first?["cost"] == .double(9_007_199_254_740_991))
    }
}
