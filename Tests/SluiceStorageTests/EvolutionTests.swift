import SluiceModel
import SluiceQuery
import SluiceStorage
import Testing

struct EvolutionTests {
    private let key = ObjectKey.id(ObjectID(high: 1, low: 1))

    private func storage(_ folder: TemporaryFolder) throws -> SQLiteServerStorage {
        try SQLiteServerStorage.open(.file(folder.file("db")), databaseID: ObjectID(high: 1, low: 1))
    }

    @Test(arguments: ScalarType.allCases)
    func newProperty_givesItsDefaultToRowsThatExist(type: ScalarType) throws {
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

    @Test func newLinkWithADefault_pointsToAGhost() throws {
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

    @Test func propertyOfAnotherType_isRefused_andNothingChanges() throws {
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
    func namesThatTablesCannotTellApart_areRefused(classes: [ClassDeclaration]) throws {
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
}
