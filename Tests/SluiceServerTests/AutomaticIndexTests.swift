import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceViews
import SluiceWire
import Testing

@testable import SluiceServer

private func schema(isIndexed: Bool = false) throws -> Schema {
    try Schema([
        ClassSchema(
            "Car", primaryKey: "vin",
            properties: [
                Property("vin", .scalar(.int)), Property("name", .scalar(.string)),
                Property("price", .scalar(.double), isIndexed: isIndexed), Property("isNew", .scalar(.bool)),
                Property("dealer", .link("Dealer")),
            ]),
        ClassSchema("Dealer", properties: [Property("city", .scalar(.string)), Property("size", .scalar(.int))]),
    ])
}

struct IndexPolicyTests {
    private static let name = TableIndex.Column(1)
    private static let price = TableIndex.Column(2)

    @Test(arguments: [
        ("Car", nil), ("Car SORT(price ASC)", nil), ("Car WHERE vin == 3 SORT(price ASC) LIMIT(3)", nil),
        ("Car WHERE name == 'a'", TableIndex(classIndex: 0, columns: [name])),
        ("Car WHERE price > 3", TableIndex(classIndex: 0, columns: [price])),
        ("Car WHERE name BEGINSWITH 'a'", TableIndex(classIndex: 0, columns: [name])),
        ("Car WHERE price > 3 AND name == 'a'", TableIndex(classIndex: 0, columns: [name, price])),
        ("Car SORT(price DESC) LIMIT(3)", TableIndex(classIndex: 0, columns: [price])),
        ("Car WHERE name == 'a' SORT(price DESC) LIMIT(3)", TableIndex(classIndex: 0, columns: [name, price])),
        (
            "Car WHERE name == 'a' SORT(name ASC, price ASC) LIMIT(3)",
            TableIndex(classIndex: 0, columns: [name, price])
        ),
        (
            "Car SORT(name ASC, price DESC) LIMIT(3)",
            TableIndex(classIndex: 0, columns: [name, .init(2, isAscending: false)])
        ),
        ("Car WHERE isNew == true", nil), ("Car WHERE NOT name == 'a'", nil), ("Car WHERE dealer.city == 'Ulm'", nil),
        ("Car WHERE isNew == true SORT(price ASC) LIMIT(2)", TableIndex(classIndex: 0, columns: [.init(3), price])),
        ("Car SORT(dealer.city ASC) LIMIT(2)", nil), ("Car WHERE name == 'a' OR price > 3", nil),
        (
            "Dealer SORT(size DESC) LIMIT(2)",
            TableIndex(classIndex: 1, columns: [.init(1, isAscending: false)], endsWithID: true)
        ),
        ("OBJECT(00000000000000010000000000000002)", nil),
    ])
    func aQueryWantsTheIndexThatServesItBest(text: String, index: TableIndex?) throws {
        #expect(IndexPolicy.index(for: try .parse(text, schema: schema()), schema: try schema()) == index)
    }

    @Test func whatTheSchemaDeclaresIsNotWanted() throws {
        let declared = try schema(isIndexed: true)
        #expect(IndexPolicy.index(for: try .parse("Car WHERE price > 3", schema: declared), schema: declared) == nil)
        #expect(
            IndexPolicy.index(for: try .parse("Car SORT(price DESC) LIMIT(2)", schema: declared), schema: declared)
                == nil)
        let both = try Query.parse("Car WHERE name == 'a' SORT(price ASC) LIMIT(2)", schema: declared)
        #expect(IndexPolicy.index(for: both, schema: declared) != nil)
    }
}

/// An engine over a database in memory with some cars.
private final class Garage {
    let storage: SQLiteServerStorage
    let engine: DatabaseEngine
    var now: Int64 = 0
    private var lastSubscription: UInt64 = 0
    private let session = SessionID(connection: 1, session: 1)

    init(_ storage: SQLiteServerStorage? = nil, carCount: Int = 20, limits: AutomaticIndexes.Limits) throws {
        self.storage = try storage ?? .open(.memory, databaseID: ObjectID(high: 7, low: 7))
        var engineLimits = DatabaseLimits()
        engineLimits.automaticIndexes = limits
        engine = DatabaseEngine(name: "cars", storage: self.storage, limits: engineLimits) { 1 }
        let open = try ClientMessage.Open(session: 1, path: "cars", identity: nil, schema: schema())
        _ = engine.handle([.open(session, open, User(id: nil, mayExtendSchema: true))], now: Timestamp(microseconds: 0))
        guard storage == nil, carCount > 0 else { return }
        try upload(carCount)
    }

    static func limits() -> AutomaticIndexes.Limits {
        var limits = AutomaticIndexes.Limits()
        limits.rowCountMin = 10
        limits.rowCountMax = 1_000
        limits.retentionMicroseconds = 100
        limits.retentionVersionCount = 1
        limits.settlingMicroseconds = 0
        return limits
    }

    private var sequence: UInt64 = 0
    private var lastKey: Int64 = 0

    func upload(_ count: Int) throws {
        sequence += 1
        let operations = (0..<count).map { _ -> ObjectOperation in
            lastKey += 1
            return ObjectOperation(ObjectRef(0, .int(lastKey)), .create([FieldOperation(1, .set(.string("a")))]))
        }
        let changeset = Changeset(
            sequence: sequence, baseVersion: 0, timestamp: HybridTimestamp(microseconds: Int64(sequence)),
            operations: operations)
        handle(.upload(session: 1, changesets: [changeset]))
    }

    @discardableResult
    func subscribe(_ query: String) -> UInt64 {
        lastSubscription += 1
        handle(.subscribe(.init(session: 1, subscription: lastSubscription, query: query)))
        return lastSubscription
    }

    func unsubscribe(_ subscription: UInt64) { handle(.unsubscribe(session: 1, subscription: subscription)) }

    func handle(_ message: ClientMessage) {
        _ = engine.handle([.messages(session, [message])], now: Timestamp(microseconds: now))
        performMaintenance()
    }

    func performMaintenance() { engine.performMaintenance(now: Timestamp(microseconds: now)) }

    var names: [String] { get throws { try storage.automaticIndexes().map { $0.name(in: storage.schema) } } }
}

struct AutomaticIndexTests {
    @Test func anIndexComesWithTheQueryAndGoesSomeTimeAndCommitsAfterTheLast() throws {
        let garage = try Garage(limits: Garage.limits())
        let first = garage.subscribe("Car WHERE name == 'a' SORT(price ASC) LIMIT(3)")
        let second = garage.subscribe("Car WHERE name == 'b' SORT(price ASC) LIMIT(5)")
        #expect(try garage.names == ["a_Car.name.price"])
        garage.unsubscribe(first)
        garage.now = 1_000
        try garage.upload(1)
        #expect(try garage.names == ["a_Car.name.price"], "another query still wants it")
        garage.unsubscribe(second)
        try garage.upload(1)
        #expect(try garage.names == ["a_Car.name.price"], "commits have gone by, time has not")
        garage.now = 1_200
        garage.performMaintenance()
        try garage.upload(1)
        #expect(try garage.names == [])
    }

    @Test func timeAloneDropsNothing() throws {
        let garage = try Garage(limits: Garage.limits())
        garage.unsubscribe(garage.subscribe("Car WHERE name == 'a'"))
        garage.now = 1_000_000
        garage.unsubscribe(garage.subscribe("Car WHERE vin == 1"))
        #expect(try garage.names == ["a_Car.name"])
    }

    @Test func aQueryThatComesBackKeepsItsIndex() throws {
        let garage = try Garage(limits: Garage.limits())
        garage.unsubscribe(garage.subscribe("Car WHERE name == 'a'"))
        garage.subscribe("Car WHERE name == 'c'")
        garage.now = 1_000_000
        try garage.upload(1)
        try garage.upload(1)
        #expect(try garage.names == ["a_Car.name"])
    }

    @Test(arguments: [(5, 0), (20, 1), (1_500, 0)])
    func classesThatAreSmallOrTooLargeGetNone(carCount: Int, indexCount: Int) throws {
        let garage = try Garage(carCount: carCount, limits: Garage.limits())
        garage.subscribe("Car WHERE name == 'a'")
        #expect(try garage.names.count == indexCount)
    }

    @Test func aSmallClassGetsTheIndexThatManyQueriesWant() throws {
        var limits = Garage.limits()
        limits.rowCountMin = 1_000
        limits.scannedRowCountMin = (ofClass: 15, ofAll: 60)
        let garage = try Garage(limits: limits)
        garage.subscribe("Car WHERE name == 'a'")
        garage.subscribe("Car WHERE name == 'b'")
        #expect(try garage.names == [])
        garage.subscribe("Car WHERE name == 'c'")
        #expect(try garage.names == ["a_Car.name"])
        let tiny = try Garage(carCount: 14, limits: limits)
        for name in "abcdefgh" { tiny.subscribe("Car WHERE name == '\(name)'") }
        #expect(try tiny.names == [])
    }

    @Test func aClassThatGrowsGetsItsIndex() throws {
        let garage = try Garage(carCount: 0, limits: Garage.limits())
        garage.subscribe("Car WHERE name == 'a'")
        #expect(try garage.names == [])
        try garage.upload(30)
        #expect(try garage.names == ["a_Car.name"])
    }

    @Test func aClassHasOnlySoMany() throws {
        var limits = Garage.limits()
        limits.countOfClassMax = 1
        let garage = try Garage(limits: limits)
        garage.subscribe("Car WHERE name == 'a'")
        garage.subscribe("Car WHERE price > 3")
        #expect(try garage.names == ["a_Car.name"])
    }

    @Test func whatNobodyWantsMakesRoomForWhatIsWanted() throws {
        var limits = Garage.limits()
        limits.countOfClassMax = 1
        limits.retentionMicroseconds = 1_000_000
        let garage = try Garage(limits: limits)
        let first = garage.subscribe("Car WHERE name == 'a'")
        garage.subscribe("Car WHERE price > 3")
        #expect(try garage.names == ["a_Car.name"])
        garage.unsubscribe(first)
        for _ in 0..<2 { garage.performMaintenance() }
        #expect(try garage.names == ["a_Car.price"])
    }

    @Test func aQueryThatComesAndGoesMakesNoneOneThatStaysOrComesOftenDoes() throws {
        var limits = Garage.limits()
        limits.settlingMicroseconds = 1_000
        limits.settlingCount = 3
        let garage = try Garage(limits: limits)
        garage.unsubscribe(garage.subscribe("Car WHERE name == 'a'"))
        garage.subscribe("Car WHERE price > 3")
        garage.now = 999
        try garage.upload(1)
        #expect(try garage.names == [])
        garage.now = 1_000
        garage.performMaintenance()
        #expect(try garage.names == ["a_Car.price"])
        garage.unsubscribe(garage.subscribe("Car WHERE name == 'b'"))
        #expect(try garage.names == ["a_Car.price"])
        garage.unsubscribe(garage.subscribe("Car WHERE name == 'c'"))
        #expect(try garage.names == ["a_Car.name", "a_Car.price"])
    }

    @Test func indexesSurviveARestartAndGoThenIfNobodyWantsThem() throws {
        let garage = try Garage(limits: Garage.limits())
        garage.subscribe("Car WHERE name == 'a'")
        garage.subscribe("Car WHERE price > 3")
        garage.performMaintenance()
        #expect(try garage.names == ["a_Car.name", "a_Car.price"])
        let again = try Garage(garage.storage, limits: Garage.limits())
        again.subscribe("Car WHERE price > 4")
        again.now = 1_000
        for _ in 0..<3 { try again.upload(1) }
        #expect(try again.names == ["a_Car.price"])
    }

    @Test func aSchemaThatDeclaresTheIndexMakesItNeedless() throws {
        let garage = try Garage(limits: Garage.limits())
        garage.subscribe("Car WHERE price > 3")
        #expect(try garage.names == ["a_Car.price"])
        garage.handle(.declare(session: 1, schema: try schema(isIndexed: true)))
        garage.now = 1_000
        for _ in 0..<3 { try garage.upload(1) }
        #expect(try garage.names == [])
        #expect(try garage.storage.indexes().contains { $0.properties == ["price"] && $0.origin == .declared })
    }

    @Test func anAutomaticIndexStaysRightWhenTheClassGrowsProperties() throws {
        let garage = try Garage(limits: Garage.limits())
        garage.subscribe("Car WHERE name == 'a'")
        let grown = try Schema([
            ClassSchema(
                "Car", primaryKey: "vin",
                properties: [Property("vin", .scalar(.int)), Property("color", .scalar(.string, isOptional: true))])
        ])
        garage.handle(.declare(session: 1, schema: grown))
        try garage.upload(2)
        #expect(try garage.names == ["a_Car.name"])
        #expect(
            try garage.storage.count(matching: .parse("Car WHERE name == 'a'", schema: garage.storage.schema)) == 22)
    }

    @Test func explainingSubscribesToNothingAndMakesNothing() throws {
        let garage = try Garage(limits: Garage.limits())
        garage.handle(.reportRequest(.init(session: 1, request: 1, topic: .explain, argument: "Car WHERE name == 'a'")))
        #expect(garage.engine.statistics.sentPageCount == 0 && !garage.engine.hasWork)
        #expect(try garage.names == [])
        let query = try Query.parse("Car WHERE name == 'a'", schema: garage.storage.schema)
        #expect(try garage.engine.reports.explanation(of: query).wantedIndexes.map(\.name) == ["a_Car.name"])
    }

    @Test func anExplanationSaysWhyAnIndexIsNotThere() throws {
        func remark(_ garage: Garage, _ query: String) throws -> String? {
            try garage.engine.reports.explanation(of: .parse(query, schema: garage.storage.schema)).wantedIndexRemark
        }
        var limits = Garage.limits()
        limits.countOfClassMax = 1
        let garage = try Garage(limits: limits)
        #expect(try remark(garage, "Car WHERE name == 'a'")?.hasPrefix("it is made once clients have observed") == true)
        garage.subscribe("Car WHERE name == 'a'")
        #expect(try remark(garage, "Car WHERE name == 'b'") == nil)
        #expect(try remark(garage, "Car WHERE vin == 1") == nil)
        #expect(try remark(garage, "Car WHERE price > 3")?.contains("1 automatic indexes, all wanted") == true)
        let small = try Garage(carCount: 5, limits: limits)
        let remarkOnSmall = "the class has 5 rows; indexes are made from 10 on, or where many queries want the same"
        #expect(try remark(small, "Car WHERE name == 'a'") == remarkOnSmall)
        let large = try Garage(carCount: 1_500, limits: limits)
        #expect(try remark(large, "Car WHERE name == 'a'")?.contains("declare it in the schema") == true)
    }
}
