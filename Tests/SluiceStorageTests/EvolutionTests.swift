import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceViews
import Testing

struct EvolutionTests {
    private let key = ObjectKey.id(ObjectID(high: 1, low: 1))

    private func storage(_ folder: TemporaryFolder) throws -> SQLiteServerStorage {
        try SQLiteServerStorage.open(.file(folder.file("db")), databaseID: ObjectID(high: 1, low: 1))
    }

    @Test(arguments: ScalarType.allCases)
    func newPropertyGivesItsDefaultToRowsThatExist(type: ScalarType) throws {
        let folder = try TemporaryFolder()
        var store = try storage(folder)
        try store.write {
            _ = try store.merge(Schema([ClassSchema("Thing", properties: [])]), sides: ("a", "b"))
            try store.insert(Row(key: key, values: []), ofClass: 0)
        }
        var expected: [Value] = []
        for (index, value) in Samples.values(of: type).enumerated() {
            let properties = [
                Property("single\(index)", .scalar(type), default: value, isIndexed: true),
                Property(
                    "list\(index)", PropertyType(.scalar(type), container: .list), default: .list([value, value])),
                Property("map\(index)", PropertyType(.scalar(type), container: .map)),
            ]
            expected += [value, .list([value, value]), .map(ValueMap())]
            let schema = try Schema([ClassSchema("Thing", properties: properties)])
            try store.write { _ = try store.merge(schema, sides: ("a", "b")) }
            #expect(try store.row(ObjectRef(0, key))?.values == expected)
        }
        let schema = store.schema
        store = try {
            let path = folder.file("copy")
            try store.copy(toFile: path)
            return try SQLiteServerStorage.open(.file(path), databaseID: ObjectID(high: 2, low: 2))
        }()
        #expect(store.schema == schema)
        #expect(try store.row(ObjectRef(0, key))?.values == expected)
        let other = ObjectKey.id(ObjectID(high: 1, low: 2))
        let row = Row(key: other, values: expected)
        try store.write { try store.insert(row, ofClass: 0) }
        #expect(try store.row(ObjectRef(0, other)) == row)
    }

    @Test func newLinkWithADefaultPointsToAGhost() throws {
        let folder = try TemporaryFolder()
        let store = try storage(folder)
        try store.write {
            _ = try store.merge(Schema([ClassSchema("Thing", properties: [])]), sides: ("a", "b"))
            try store.insert(Row(key: key, values: []), ofClass: 0)
        }
        let target = ObjectKey.id(ObjectID(high: 5, low: 5))
        let schema = try Schema([
            ClassSchema("Thing", properties: [Property("next", .link("Thing"), default: .link(target))])
        ])
        try store.write { _ = try store.merge(schema, sides: ("a", "b")) }
        #expect(try store.row(ObjectRef(0, key))?.values == [.link(target)])
        #expect(try store.links(to: ObjectRef(0, target), from: 0, 0) == [key])
    }

    @Test func propertyOfAnotherTypeIsRefusedAndNothingChanges() throws {
        let folder = try TemporaryFolder()
        let store = try storage(folder)
        let schema = try Schema([ClassSchema("Thing", properties: [Property("size", .scalar(.int))])])
        try store.write { _ = try store.merge(schema, sides: ("a", "b")) }
        let other = try Schema([
            ClassSchema("New", properties: []),
            ClassSchema("Thing", properties: [Property("size", .scalar(.string))]),
        ])
        #expect(throws: SchemaError.self) { try store.write { _ = try store.merge(other, sides: ("a", "b")) } }
        #expect(store.schema == schema)
    }

    @Test(arguments: [
        [ClassDeclaration("Car", []), ClassDeclaration("car", [])],
        [ClassDeclaration("Car", ["size", "SIZE"])],
        [ClassDeclaration("A", ["b_c"], isList: true), ClassDeclaration("A_b", ["c"], isList: true)],
    ])
    func namesThatTablesCannotTellApartAreRefused(classes: [ClassDeclaration]) throws {
        let store = try SQLiteClientStorage.open(.memory)
        let error = #expect(throws: SchemaError.self) {
            let schema = try Schema(classes.map { try $0.schema() })
            try store.write { _ = try store.merge(schema, sides: ("a", "b")) }
        }
        #expect(error?.code == .duplicateName)
        #expect(store.schema.classes.isEmpty)
    }

    struct ClassDeclaration: Sendable {
        var name: String
        var properties: [String]
        var isList: Bool

        init(_ name: String, _ properties: [String], isList: Bool = false) {
            self.name = name
            self.properties = properties
            self.isList = isList
        }

        func schema() throws -> ClassSchema {
            let type = PropertyType(.scalar(.int), container: isList ? .list : .single)
            return try ClassSchema(name, properties: properties.map { Property($0, type) })
        }
    }

    private static func thing(_ properties: Property...) throws -> Schema {
        try Schema([ClassSchema("Thing", properties: properties)])
    }

    private static func before() throws -> Schema {
        try thing(
            Property("count", .scalar(.int), isIndexed: true), Property("ratio", .scalar(.float)),
            Property("sizes", PropertyType(.scalar(.int), container: .list)), Property("name", .scalar(.string)),
            Property("next", .link("Thing")), Property("case", .scalar(.string), isIndexed: true))
    }

    private static func after() throws -> Schema {
        try thing(
            Property("total", .scalar(.double), isIndexed: true, was: ["count"]), Property("ratio", .scalar(.double)),
            Property("lengths", PropertyType(.scalar(.double), container: .list, isOptional: true), was: ["sizes"]),
            Property("name", .scalar(.string, isOptional: true)), Property("following", .link("Thing"), was: ["next"]),
            Property("CASE", .scalar(.string), isIndexed: true, was: ["case"]))
    }

    @Test(arguments: FaultPlan.Fault.allCases)
    func anEvolutionKeepsAllValuesAndOneThatFailsAnywhereLeavesAllAsItWas(fault: FaultPlan.Fault) throws {
        let folder = try TemporaryFolder()
        var store = try storage(folder)
        let row = Row(
            key: key,
            values: [
                .int(1 << 53), .float(0.1), .list([.int(-3), .int(4)]), .string("a"), .link(key), .string("b"),
            ])
        try store.write {
            _ = try store.merge(Self.before(), sides: ("a", "b"))
            try store.insert(row, ofClass: 0)
        }
        let index = TableIndex(classIndex: 0, columns: [.init(3), .init(0, isAscending: false)])
        try store.write { try store.make(index) }
        var number = 1
        while true {
            let plan = FaultPlan(failing: number, with: fault)
            store.faults = plan
            let outcome = Result { try store.write { _ = try store.merge(Self.after(), sides: ("a", "b")) } }
            store.faults = nil
            store.close()
            store = try storage(folder)
            guard plan.hasFired else {
                try outcome.get()
                break
            }
            #expect(throws: StorageError.self) { try outcome.get() }
            #expect(try store.schema == Self.before())
            #expect(try store.row(ObjectRef(0, key)) == row)
            number += 1
        }
        #expect(number > 5)
        #expect(
            try store.row(ObjectRef(0, key))?.values == [
                .double(9_007_199_254_740_992), .double(Double(Float(0.1))), .list([.double(-3), .double(4)]),
                .string("a"), .link(key), .string("b"),
            ])
        #expect(store.schema[0].propertyNames == ["total", "ratio", "lengths", "name", "following", "CASE"])
        for query in [
            "total > 1", "count > 1", "ANY sizes == 4", "following.name == 'a'", "CASE == 'b'", "total / 2 > 0.5",
        ] {
            let count = try store.count(matching: .parse("Thing WHERE \(query)", schema: store.schema))
            #expect(count == 1, "\(query)")
        }
        #expect(try store.links(to: ObjectRef(0, key), from: 0, 4) == [key])
        let names = try store.indexes().map(\.name)
        #expect(names == ["x_Thing_CASE", "x_Thing_following", "x_Thing_total"])
        let changed = try #require(try store.row(ObjectRef(0, key)))
        var other = changed
        other.values[0] = .double(0.5)
        other.values[3] = .null
        try store.write { try store.update(other, ofClass: 0, changed: [0, 3]) }
        #expect(try store.row(ObjectRef(0, key)) == other)
    }

    @Test func anIntegerBeyondThePrecisionOfADoubleIsNotWidened() throws {
        let folder = try TemporaryFolder()
        let store = try storage(folder)
        for value in [Int64.min, -(1 << 53) - 1, 1 << 53 + 1, .max] {
            try store.write {
                _ = try store.merge(Self.thing(Property("count", .scalar(.int))), sides: ("a", "b"))
                try store.put(Row(key: key, values: [.int(value)]), ofClass: 0)
            }
            let wider = try Self.thing(Property("count", .scalar(.double)))
            let error = #expect(throws: SchemaError.self) {
                try store.write { _ = try store.merge(wider, sides: ("a", "b")) }
            }
            #expect(error?.message.hasPrefix("Thing.count cannot become double: 1 of its values") == true)
            #expect(try store.row(ObjectRef(0, key))?.values == [.int(value)])
        }
    }
}
