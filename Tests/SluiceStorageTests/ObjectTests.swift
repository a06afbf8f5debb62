import SluiceModel
import SluiceQuery
import SluiceStorage
import Testing

struct ObjectTests {
    @Test func linkToWhatIsNotHereIsAGhostThatLightsUpInPlace() throws {
        let storage = try Garage.server()
        let owner = Garage.ownerKey(7)
        try storage.write {
            try storage.insert(
                Garage.car("A", owner: owner, former: [owner, Garage.ownerKey(8), owner]), ofClass: Garage.car)
        }
        #expect(try storage.row(Garage.ownerRef(7)) == nil)
        #expect(try !storage.isPresent(Garage.ownerRef(7)))
        #expect(try storage.count(ofClass: Garage.owner) == 0)
        #expect(try storage.findObject(ObjectID(high: 1 << 63, low: 7)) == nil)
        #expect(try storage.links(to: Garage.ownerRef(7), from: Garage.car, 2) == [.string("A")])
        #expect(try storage.links(to: Garage.ownerRef(8), from: Garage.car, 3) == [.string("A")])
        try storage.write { try storage.insert(Garage.owner(7, name: "Ann", car: "A"), ofClass: Garage.owner) }
        #expect(try storage.row(Garage.ownerRef(7)) == Garage.owner(7, name: "Ann", car: "A"))
        #expect(
            try storage.row(Garage.carRef("A"))
                == Garage.car("A", owner: owner, former: [owner, Garage.ownerKey(8), owner]))
        #expect(try storage.links(to: Garage.carRef("A"), from: Garage.owner, 1) == [owner])
    }

    @Test func objectThatLinksToItselfIsStored() throws {
        let declared = try ClassSchema(
            "Node", primaryKey: "id", properties: [Property("id", .scalar(.int)), Property("next", .link("Node"))])
        let storage = try SQLiteClientStorage.open(.memory)
        let row = Row(key: .int(1), values: [.int(1), .link(.int(1))])
        try storage.write {
            _ = try storage.merge(Schema([declared]), sides: ("a", "b"))
            try storage.insert(row, ofClass: 0)
        }
        #expect(try storage.row(ObjectRef(0, .int(1))) == row)
        try storage.write { try storage.evict(ObjectRef(0, .int(1))) }
        #expect(try storage.row(ObjectRef(0, .int(1))) == nil)
    }

    @Test func insertingAKeyThatIsPresentIsRefusedAndPutReplaces() throws {
        let storage = try Garage.server()
        try storage.write {
            try storage.insert(Garage.car("A", price: 1, former: [Garage.ownerKey(1)]), ofClass: Garage.car)
        }
        let error = #expect(throws: StorageError.self) {
            try storage.write { try storage.insert(Garage.car("A", price: 2), ofClass: Garage.car) }
        }
        #expect(error?.code == .constraint)
        #expect(try storage.row(Garage.carRef("A"))?.values[1] == .int(1))
        try storage.write { try storage.put(Garage.car("A", price: 3), ofClass: Garage.car) }
        #expect(try storage.row(Garage.carRef("A")) == Garage.car("A", price: 3))
    }

    @Test func deleteLeavesATombstoneAndANewIncarnationReplaces() throws {
        let storage = try Garage.server()
        let object = Garage.carRef("A")
        #expect(try storage.incarnation(of: object) == 0)
        try storage.write {
            try storage.insert(Garage.car("A", price: 9, former: [Garage.ownerKey(1)]), ofClass: Garage.car)
            try storage.insert(Garage.owner(1, car: "A"), ofClass: Garage.owner)
        }
        _ = try storage.findObject(Identity(className: "Car", key: .string("A")).objectID)
        try storage.write { try storage.delete(object, version: 5) }
        #expect(try storage.row(object) == nil)
        #expect(try storage.incarnation(of: object) == 1)
        #expect(try storage.findObject(Identity(className: "Car", key: .string("A")).objectID) == nil)
        #expect(try storage.links(to: Garage.ownerRef(1), from: Garage.car, 3).isEmpty)
        #expect(try storage.row(Garage.ownerRef(1))?.values[1] == .link(.string("A")))
        try storage.write { try storage.insert(Garage.car("A", price: 1, version: 6), ofClass: Garage.car) }
        #expect(try storage.row(object) == Garage.car("A", price: 1, version: 6))
        #expect(try storage.incarnation(of: object) == 1)
        #expect(try storage.findObject(Identity(className: "Car", key: .string("A")).objectID) == object)
    }

    @Test func updatingWhatIsNotPresentIsRefused() throws {
        let storage = try Garage.server()
        try storage.write { try storage.insert(Garage.car("A", owner: Garage.ownerKey(1)), ofClass: Garage.car) }
        for row in [Garage.owner(1), Garage.owner(2)] {
            let error = #expect(throws: StorageError.self) {
                try storage.write { try storage.update(row, ofClass: Garage.owner, changed: [0]) }
            }
            #expect(error?.code == .notFound)
        }
    }

    @Test func evictionRemovesTheRowOrLeavesAGhostWhereSomethingLinks() throws {
        let storage = try Garage.client()
        try storage.write {
            try storage.insert(Garage.owner(1, name: "Ann", car: "gone"), ofClass: Garage.owner)
            try storage.insert(Garage.car("A", owner: Garage.ownerKey(1)), ofClass: Garage.car)
            try storage.evict(Garage.ownerRef(1))
        }
        #expect(try storage.row(Garage.ownerRef(1)) == nil)
        #expect(try storage.row(Garage.carRef("A"))?.values[2] == .link(Garage.ownerKey(1)))
        try storage.write { try storage.evict(Garage.carRef("A")) }
        #expect(try storage.count(ofClass: Garage.car) == 0)
        // Nothing of the objects is left, so the keys can be used again.
        try storage.write { try storage.insert(Garage.owner(1, name: "Bea"), ofClass: Garage.owner) }
        #expect(try storage.row(Garage.ownerRef(1)) == Garage.owner(1, name: "Bea"))
        #expect(try storage.links(to: Garage.carRef("gone"), from: Garage.owner, 1).isEmpty)
    }

    @Test func rollbackForgetsRowsGhostsAndSchema() throws {
        let storage = try Garage.client()
        try storage.write { try storage.insert(Garage.car("A"), ofClass: Garage.car) }
        try storage.transaction(undone: true) {
            try storage.insert(Garage.car("B", owner: Garage.ownerKey(3)), ofClass: Garage.car)
            try storage.delete(Garage.carRef("A"), version: 0)
            _ = try storage.merge(Schema([ClassSchema("New", properties: [])]), sides: ("a", "b"))
            _ = try storage.findObject(Identity(className: "Car", key: .string("B")).objectID)
        }
        #expect(storage.schema == (try Garage.schema()))
        #expect(try storage.rows(ofClass: Garage.car) == [.string("A"): Garage.car("A")])
        #expect(try storage.findObject(Identity(className: "Car", key: .string("A")).objectID) == Garage.carRef("A"))
        try storage.write { try storage.insert(Garage.car("B", owner: Garage.ownerKey(3)), ofClass: Garage.car) }
        #expect(try storage.links(to: Garage.ownerRef(3), from: Garage.car, 2) == [.string("B")])
    }

    @Test func writingOutsideATransactionIsRefused() throws {
        let storage = try Garage.client()
        let error = #expect(throws: StorageError.self) { try storage.insert(Garage.car("A"), ofClass: Garage.car) }
        #expect(error?.code == .misuse)
    }
}
