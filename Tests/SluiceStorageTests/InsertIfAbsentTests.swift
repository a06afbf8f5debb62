import SluiceModel
import SluiceQuery
import SluiceStorage
import Testing

struct InsertIfAbsentTests {
    @Test func insertIfAbsentStoresWhatIsNotHereAndLeavesWhatIs() throws {
        let storage = try Garage.client()
        let stored = try storage.write {
            [
                try storage.insertIfAbsent(Garage.car("A", price: 1), ofClass: Garage.car),
                try storage.insertIfAbsent(Garage.car("A", price: 2), ofClass: Garage.car),
            ]
        }
        #expect(stored == [true, false])
        #expect(try storage.row(Garage.carRef("A")) == Garage.car("A", price: 1))
    }

    @Test func insertIfAbsentGivesContentToAGhostAndToATombstone() throws {
        let storage = try Garage.client()
        let stored = try storage.write {
            try storage.insert(Garage.car("A", owner: Garage.ownerKey(1)), ofClass: Garage.car)
            let first = try storage.insertIfAbsent(Garage.owner(1, name: "Ann"), ofClass: Garage.owner)
            try storage.delete(Garage.ownerRef(1), version: 5)
            return [first, try storage.insertIfAbsent(Garage.owner(1, name: "Bob"), ofClass: Garage.owner)]
        }
        #expect(stored == [true, true])
        #expect(try storage.row(Garage.ownerRef(1)) == Garage.owner(1, name: "Bob"))
    }

    @Test func insertIfUnknownStoresOnlyWhatWasNeverHeardOf() throws {
        let storage = try Garage.client()
        let stored = try storage.write {
            // A link makes its target a ghost.
            try storage.insert(Garage.car("A", owner: Garage.ownerKey(1)), ofClass: Garage.car)
            try storage.insert(Garage.owner(2, name: "Ann"), ofClass: Garage.owner)
            try storage.insert(Garage.owner(3, name: "Bob"), ofClass: Garage.owner)
            try storage.delete(Garage.ownerRef(3), version: 5)
            return try (1...4).map {
                try storage.insertIfUnknown(Garage.owner($0, name: "Eve"), ofClass: Garage.owner)
            }
        }
        #expect(stored == [false, false, false, true])
        #expect(try storage.row(Garage.ownerRef(1)) == nil && storage.row(Garage.ownerRef(3)) == nil)
        #expect(try storage.row(Garage.ownerRef(2)) == Garage.owner(2, name: "Ann"))
        #expect(try storage.row(Garage.ownerRef(4)) == Garage.owner(4, name: "Eve"))
    }

    @Test func anObjectEvictedRightAfterItsInsertIsNoMember() throws {
        let storage = try Garage.client()
        let error = #expect(throws: StorageError.self) {
            try storage.write {
                let id = try storage.addSubscription(ClientStoreTests.record("Car")).id
                try storage.insert(Garage.car("A"), ofClass: Garage.car)
                try storage.evict(Garage.carRef("A"))
                try storage.addMember(Garage.carRef("A"), role: .root, to: id)
            }
        }
        #expect(error?.code == .notFound)
    }

    @Test func nonmembersAreWhatMatchesAndNoRoleNames() throws {
        let storage = try Garage.client()
        let query = try Query.parse("Car WHERE price > 1 SORT(price DESC) LIMIT(1)", schema: Garage.schema())
        let nonmembers = try storage.write {
            let id = try storage.addSubscription(ClientStoreTests.record("Car")).id
            for (vin, price) in [("A", Int64(1)), ("B", 2), ("C", 3), ("D", 4), ("E", 5)] {
                try storage.insert(Garage.car(vin, price: price), ofClass: Garage.car)
            }
            try storage.addMember(Garage.carRef("B"), role: .root, to: id)
            try storage.addMember(Garage.carRef("C"), role: .linked, to: id)
            return try storage.nonmembers(of: id, matching: query)
        }
        #expect(Set(nonmembers) == [Garage.carRef("D"), Garage.carRef("E")])
    }
}
