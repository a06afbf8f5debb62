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
