import SluiceModel
import SluiceQuery
import SluiceStorage
import Testing

struct RemovalTests {
    private static let key = ObjectKey.id(ObjectID(high: 1, low: 1))

    private static func schema() throws -> Schema {
        try Schema([
            ClassSchema(
                "Car",
                properties: [
                    Property("name", .scalar(.string)), Property("price", .scalar(.date), isIndexed: true),
                    Property("tags", PropertyType(.scalar(.string), container: .list)),
                    Property("doors", .scalar(.int), default: .int(4)), Property("dealer", .link("Dealer")),
                    Property("last", .scalar(.double, isOptional: true)),
                ]),
            ClassSchema("Dealer", primaryKey: "code", properties: [Property("code", .scalar(.int))]),
        ])
    }

    private func store(_ folder: TemporaryFolder) throws -> SQLiteServerStorage {
        let store = try SQLiteServerStorage.open(.file(folder.file("db")), databaseID: ObjectID(high: 1, low: 1))
        if store.schema.classes.isEmpty {
            try store.write { _ = try store.merge(Self.schema(), sides: ("a", "b")) }
        }
        return store
    }

    private var row: Row {
        let date = Value.date(Timestamp(microseconds: 0))
        return Row(key: Self.key, values: [.string("a"), date, .list([]), .int(4), .null, .double(3)])
    }

    @Test func aPropertyWithoutValuesGoesAndTheRowsKeepTheRest() throws {
        let folder = try TemporaryFolder()
        var store = try store(folder)
        try store.write { try store.insert(row, ofClass: 0) }
        try store.write { for property in 1...4 { try store.removeProperty(property, ofClass: 0) } }
        let left: [Value] = [.string("a"), .null, .null, .null, .null, .double(3)]
        #expect(try store.row(ObjectRef(0, Self.key))?.values == left)
        store.close()
        store = try self.store(folder)
        #expect(try store.row(ObjectRef(0, Self.key))?.values == left)
        #expect(store.schema[0].propertyNames == ["name", "last"])
        let other = try Schema([ClassSchema("Car", properties: [Property("price", .scalar(.double, isOptional: true))])]
        )
        try store.write { _ = try store.merge(other, sides: ("a", "b")) }
        var changed = try #require(try store.row(ObjectRef(0, Self.key)))
        #expect(changed.values == left + [.null])
        changed.values[6] = .double(9)
        try store.write { try store.update(changed, ofClass: 0, changed: [6]) }
        var found: [ObjectKey] = []
        try store.rows(matching: .parse("Car WHERE price == 9", schema: store.schema), after: nil, limit: nil) { row in
            found.append(row.key)
            return true
        }
        #expect(found == [Self.key])
    }

    @Test(arguments: [
        ("name", "1 object has a value for Car.name"), ("last", "1 object has a value for Car.last"),
    ])
    func aPropertyWithAValueStays(name: String, reason: String) throws {
        let folder = try TemporaryFolder()
        let store = try store(folder)
        try store.write { try store.insert(row, ofClass: 0) }
        let before = store.schema
        let error = try #require(throws: SchemaError.self) {
            try store.write { try store.removeProperty(before[0].index(of: name) ?? -1, ofClass: 0) }
        }
        #expect(error.code == .inUse && error.message.hasPrefix(reason), "\(error.message)")
        #expect(store.schema == before)
        #expect(try store.row(ObjectRef(0, Self.key)) == row)
    }

    @Test func aCollectionWithElementsAndAPrimaryKeyStay() throws {
        let folder = try TemporaryFolder()
        let store = try store(folder)
        var tagged = row
        tagged.values[2] = .list([.string("x")])
        try store.write { try store.insert(tagged, ofClass: 0) }
        for (property, classIndex) in [(2, 0), (0, 1)] {
            #expect(throws: SchemaError.self) {
                try store.write { try store.removeProperty(property, ofClass: classIndex) }
            }
        }
    }

    @Test func aClassGoesOnceItIsEmptyAndNothingLinksToIt() throws {
        let folder = try TemporaryFolder()
        var store = try store(folder)
        try store.write { try store.insert(row, ofClass: 0) }
        func problem(_ classIndex: Int) throws -> String? {
            #expect(throws: SchemaError.self) { try store.write { try store.removeClass(classIndex) } }?.message
        }
        #expect(try problem(1) == "Car.dealer links to Dealer; remove that property first")
        #expect(try problem(0) == "Car has 1 object; delete them before you remove the class")
        try store.write {
            try store.delete(ObjectRef(0, Self.key), version: 1)
            try store.removeClass(0)
            try store.removeClass(1)
        }
        store.close()
        store = try self.store(folder)
        #expect(store.schema.classNames == [] && store.schema.classes.count == 2)
        let other = try Schema([ClassSchema("Car", primaryKey: "id", properties: [Property("id", .scalar(.int))])])
        try store.write {
            _ = try store.merge(other, sides: ("a", "b"))
            try store.insert(Row(key: .int(3), values: [.int(3)]), ofClass: 2)
        }
        #expect(try store.row(ObjectRef(2, .int(3)))?.values == [.int(3)])
    }

    /// Each statement of a removal fails once, and the file is opened again after each failure.
    @Test(arguments: FaultPlan.Fault.allCases)
    func aRemovalThatFailsAnywhereLeavesAllAsItWas(fault: FaultPlan.Fault) throws {
        let folder = try TemporaryFolder()
        var store = try store(folder)
        try store.write { try store.insert(row, ofClass: 0) }
        let before = store.schema
        var number = 1
        while true {
            let plan = FaultPlan(failing: number, with: fault)
            store.faults = plan
            let outcome = Result { try store.write { try store.removeProperty(1, ofClass: 0) } }
            store.faults = nil
            store.close()
            store = try self.store(folder)
            guard plan.hasFired else {
                try outcome.get()
                break
            }
            #expect(throws: StorageError.self) { try outcome.get() }
            #expect(store.schema == before)
            #expect(try store.row(ObjectRef(0, Self.key)) == row)
            number += 1
        }
        #expect(number > 2)
        #expect(store.schema[0].index(of: "price") == nil)
    }
}
