import SluiceModel
import SluiceQuery
import SluiceStorage
import TestSupport
import Testing

struct RoundTripTests {
    @Test(arguments: [1, 2, 3, 4, 5] as [UInt64])
    func everyTypeInEveryContainerSurvivesReopening(seed: UInt64) throws {
        let folder = try TemporaryFolder()
        var random = SeededGenerator(seed: seed)
        let declared = try Samples.everything()
        let keys = (0..<12).map { ObjectKey.id(ObjectID(high: .max - UInt64($0), low: random.next())) }
        var expected: [ObjectKey: Row] = [:]
        do {
            let storage = try SQLiteServerStorage.open(.file(folder.file("db")), databaseID: ObjectID(high: 1, low: 1))
            try storage.write {
                _ = try storage.merge(Schema([declared]), sides: ("a", "b"))
                for key in keys.prefix(8) {
                    let row = Samples.row(key, of: declared, links: keys, using: &random)
                    try storage.insert(row, ofClass: 0)
                    expected[key] = row
                }
                for _ in 0..<20 {
                    let key = keys.prefix(8).randomElement(using: &random)!
                    let changed = PropertySet(
                        (0..<5).map { _ in declared.properties.indices.randomElement(using: &random)! })
                    let new = Samples.row(key, of: declared, links: keys, using: &random)
                    var row = expected[key]!
                    row.version = new.version
                    for property in changed { row.values[property] = new.values[property] }
                    try storage.update(row, ofClass: 0, changed: changed)
                    expected[key] = row
                }
            }
            #expect(try storage.rows(ofClass: 0) == expected)
        }
        let storage = try SQLiteServerStorage.open(.file(folder.file("db")), databaseID: ObjectID(high: 9, low: 9))
        #expect(storage.databaseID == ObjectID(high: 1, low: 1))
        #expect(storage.schema == (try Schema([declared])))
        #expect(try storage.rows(ofClass: 0) == expected)
        for key in keys { #expect(try storage.row(ObjectRef(0, key)) == expected[key], "seed \(seed)") }
    }

    @Test(arguments: ScalarType.allCases)
    func eachEdgeValueIsReadAsWritten(type: ScalarType) throws {
        let declared = try ClassSchema("One", properties: [Property("value", .scalar(type, isOptional: true))])
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        let values = [Value.null] + Samples.values(of: type)
        try storage.write {
            _ = try storage.merge(Schema([declared]), sides: ("a", "b"))
            for (index, value) in values.enumerated() {
                try storage.insert(Row(key: .id(ObjectID(high: 0, low: UInt64(index))), values: [value]), ofClass: 0)
            }
        }
        for (index, value) in values.enumerated() {
            let row = try #require(try storage.row(ObjectRef(0, .id(ObjectID(high: 0, low: UInt64(index))))))
            #expect(row.values == [value])
        }
    }

    @Test(
        arguments: [
            [.int(.min), .int(.max), .int(0)], [.string(""), .string("e\u{301}"), .string("é")],
        ] as [[ObjectKey]])
    func keysThatLookAlikeStayApart(keys: [ObjectKey]) throws {
        let isInt = if case .int = keys[0] { true } else { false }
        let declared = try ClassSchema(
            "Keyed", primaryKey: "key", properties: [Property("key", .scalar(isInt ? .int : .string))])
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        try storage.write {
            _ = try storage.merge(Schema([declared]), sides: ("a", "b"))
            for key in keys { try storage.insert(Row(key: key, values: [key.value]), ofClass: 0) }
        }
        for key in keys {
            #expect(try storage.row(ObjectRef(0, key))?.key == key)
            let id = Identity(className: "Keyed", key: key).objectID
            #expect(try storage.findObject(id) == ObjectRef(0, key))
        }
    }

    @Test func absentPropertiesAreKeptBeyondSixtyFourToo() throws {
        let properties = (0..<130).map { Property("p\($0)", .scalar(.int)) }
        let storage = try SQLiteClientStorage.open(.memory)
        let sets: [PropertySet] = [[], [0], [62], [63], [3, 64], [129], PropertySet(all: 130)]
        try storage.write {
            _ = try storage.merge(Schema([ClassSchema("Wide", properties: properties)]), sides: ("a", "b"))
            for (index, absent) in sets.enumerated() {
                let key = ObjectKey.id(ObjectID(high: 0, low: UInt64(index)))
                try storage.insert(
                    Row(key: key, values: properties.map(\.defaultValue), absent: absent), ofClass: 0)
            }
        }
        for (index, absent) in sets.enumerated() {
            let object = ObjectRef(0, .id(ObjectID(high: 0, low: UInt64(index))))
            #expect(try storage.row(object)?.absent == absent)
        }
    }

    @Test func valueOfTheWrongTypeIsRefusedByName() throws {
        let storage = try Garage.server()
        var row = Garage.car("A")
        row.values[1] = .string("cheap")
        let error = #expect(throws: StorageError.self) {
            try storage.write { try storage.insert(row, ofClass: Garage.car) }
        }
        #expect(error?.code == .misuse)
        #expect(error?.message.contains("Car.price") == true)
        #expect(try storage.count(ofClass: Garage.car) == 0)
    }
}
