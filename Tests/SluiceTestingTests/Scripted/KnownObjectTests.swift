import Sluice
import SluiceModel
import SluiceQuery
import Testing

@testable import SluiceStorage

/// Objects that are asked for by class and key: the server finds them by their keys, and makes no index of object ids
/// that every later insert would have to keep.
@Suite struct KnownObjectTests {
    private let sync: HandDrivenSync
    private static let (car, dealer, memo) = (0, 1, 2)

    init() throws {
        let schema = try Schema([
            ClassSchema(
                "Car", primaryKey: "vin",
                properties: [
                    Property("vin", .scalar(.string)), Property("price", .scalar(.int)),
                    Property("dealer", .link("Dealer")),
                ]),
            ClassSchema(
                "Dealer", primaryKey: "code",
                properties: [Property("code", .scalar(.int)), Property("city", .scalar(.string))]),
            ClassSchema("Memo", properties: [Property("text", .scalar(.string))]),
        ])
        sync = try HandDrivenSync(clientCount: 2, schema)
        try sync.engine(0).write { writer in
            try writer.insert(Row(key: .int(1), values: [.int(1), .string("Oslo")]), ofClass: Self.dealer)
            // The dealer of the second car is not there.
            for (vin, code) in [("a", 1), ("b", 2)] as [(String, Int64)] {
                try writer.insert(
                    Row(key: .string(vin), values: [.string(vin), .int(10), .link(.int(code))]), ofClass: Self.car)
            }
        }
        sync.settle()
    }

    private func query(_ className: String, _ key: ObjectKey) throws -> Query {
        try QueryDescription<Record>(className: className, key: key).query(in: sync.engine(1).schema)
    }

    /// Observes an object in the second client.
    private func observe(_ className: String, _ key: ObjectKey) throws -> EventLog {
        let log = EventLog()
        let observation = Observation()
        observation.id = try sync.engine(1).observe(try query(className, key)) { [sync] event in
            log.events.append(event)
            sync.engine(1).observerIsReady(observation.id)
        }
        sync.engine(1).observerIsReady(observation.id)
        return log
    }

    private final class Observation { var id: UInt64 = 0 }

    private func keys(_ log: EventLog) -> [ObjectKey] { log.events.last?.list.visible.map(\.object.key) ?? [] }

    /// Whether a store or the server has an index of the ids of a class with a primary key.
    private var hasIndexOfIDs: Bool {
        get throws {
            try [Self.car, Self.dealer].contains { classIndex in
                try sync.server.tables.table(classIndex).hasIDIndex
                    || sync.storage(1).tables.table(classIndex).hasIDIndex
            }
        }
    }

    @Test func anObjectIsFollowedWithItsLinksWithoutAnIndexOfIds() throws {
        let log = try observe("Car", .string("a"))
        sync.settle()
        #expect(keys(log) == [.string("a")] && log.events.last?.status.state == .complete)
        #expect(try sync.storage(1).row(ObjectRef(Self.dealer, .int(1))) != nil)
        try sync.engine(0).write {
            try $0.update(ObjectRef(Self.car, .string("a")), [FieldOperation(1, .set(.int(11)))])
        }
        sync.settle()
        #expect(log.events.last?.list.visible.first?.row.values[1] == .int(11))
        try sync.engine(0).write { try $0.delete(ObjectRef(Self.car, .string("a"))) }
        sync.settle()
        #expect(keys(log).isEmpty && log.events.last?.change.deletions.map(\.reason) == [.deleted])
        #expect(try !hasIndexOfIDs)
    }

    @Test func aKeyThatDoesNotExistYetIsFollowedFromItsCreationOn() throws {
        let log = try observe("Car", .string("c"))
        sync.settle()
        #expect(keys(log).isEmpty && log.events.last?.status.state == .complete)
        try sync.engine(0).write { writer in
            try writer.insert(
                Row(key: .string("c"), values: [.string("c"), .int(10), .link(.int(1))]), ofClass: Self.car)
        }
        sync.settle()
        #expect(keys(log) == [.string("c")])
        #expect(try !hasIndexOfIDs)
    }

    @Test func aLinkTargetThatIsNotThereIsFollowedAsAGhostUntilItComes() throws {
        let car = try observe("Car", .string("b"))
        let dealer = try observe("Dealer", .int(2))
        sync.settle()
        #expect(keys(car) == [.string("b")] && keys(dealer).isEmpty)
        try sync.engine(0).write { writer in
            try writer.insert(Row(key: .int(2), values: [.int(2), .string("Rome")]), ofClass: Self.dealer)
        }
        sync.settle()
        #expect(keys(dealer) == [.int(2)])
        // The car's link leads to it now.
        #expect(car.events.last?.change.modifications == [0])
        #expect(try !hasIndexOfIDs)
    }

    @Test func anObjectThatWasWrittenHereShowsBeforeTheServerHasIt() throws {
        let log = try observe("Car", .string("d"))
        try sync.engine(1).write { writer in
            try writer.insert(
                Row(key: .string("d"), values: [.string("d"), .int(10), .null]), ofClass: Self.car)
        }
        #expect(keys(log) == [.string("d")] && log.events.last?.status.state == .pending)
        sync.settle()
        #expect(keys(log) == [.string("d")])
        #expect(try !hasIndexOfIDs)
    }

    @Test func aWaitForAnObjectLeavesNoSubscription() throws {
        let query = try query("Car", .string("a"))
        let waiter = try sync.engine(1).awaitStatus(query) { $0.state == .complete }
        sync.settle()
        try sync.engine(1).releaseStatus(query, waiter: waiter)
        #expect(sync.storage(1).subscriptions.isEmpty)
        #expect(try sync.storage(1).row(ObjectRef(Self.car, .string("a"))) != nil)
    }

    @Test func anObjectWithoutAPrimaryKeyIsFoundByItsIdBeforeAnyIndexIsMade() throws {
        let id = ObjectID(high: 7, low: 7)
        try sync.engine(0).write { try $0.insert(Row(key: .id(id), values: [.string("x")]), ofClass: Self.memo) }
        sync.settle()
        let log = try observe("Memo", .id(id))
        sync.settle()
        #expect(keys(log) == [.id(id)])
        #expect(try !sync.server.tables.table(Self.car).hasIDIndex)
    }
}
