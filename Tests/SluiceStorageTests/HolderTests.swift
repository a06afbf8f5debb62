import SluiceModel
import TestSupport
import Testing

@testable import SluiceStorage

/// Compares the holders of objects with plain sets, over random memberships, commits and rollbacks.
@Suite(.ownThread) struct HolderTests {
    /// The expected answers of the storage, in plain sets.
    private struct Oracle {
        var members: [UInt64: Set<ObjectRef>] = [:]
        var staged: [UInt64: Set<ObjectRef>] = [:]
        var dormant: Set<UInt64> = []

        func holders(of object: ObjectRef) -> Set<UInt64> {
            Set(members.keys.filter { members[$0]?.contains(object) ?? false || staged[$0]?.contains(object) ?? false })
        }
    }

    /// So many objects that some subscriptions become large, and so few that subscriptions share them.
    private static let objects = (0..<700).map { Garage.carRef("car\($0)") }

    @Test(arguments: 0..<12)
    func randomMembershipsAreFoundByObject(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("store"))
        var storage = try Garage.client(location)
        try storage.write {
            for number in 0..<700 { try storage.insert(Garage.car("car\(number)"), ofClass: Garage.car) }
        }
        var oracle = Oracle()
        for step in 0..<60 {
            let before = oracle
            let isUndone = random.chance(25)
            try storage.transaction(undone: isUndone) {
                for _ in 0..<Int.random(in: 1...6, using: &random) { try change(storage, &oracle, &random, step) }
            }
            if isUndone { oracle = before }
            try compare(storage, oracle, &random, "seed \(seed), step \(step)")
            if step == 30 {
                storage.close()
                storage = try SQLiteClientStorage.open(location)
            }
        }
    }

    /// What has come and gone leaves no memory behind: neither who had it, nor its row ids and keys.
    @Test func objectsThatComeAndGoLeaveNothing() throws {
        let storage = try Garage.client()
        let table = try storage.tables.table(Garage.car)
        for page in 0..<5 {
            let objects = (0..<300).map { Garage.carRef("car\(page * 300 + $0)") }
            let id = try storage.write {
                let text = String(repeating: "q", count: page + 1)
                let id = try storage.addSubscription(ClientStoreTests.record(text)).id
                for object in objects {
                    guard case .string(let name) = object.key else { continue }
                    try storage.insert(Garage.car(name), ofClass: Garage.car)
                    try storage.addMember(object, role: .root, to: id)
                    #expect(try storage.subscriptions(having: object, role: nil) == [id])
                }
                return id
            }
            #expect(storage.holders.entryCount > 0)
            try storage.write {
                #expect(try storage.exclusiveMembers(of: id).count == 300)
                for object in objects { try storage.evict(object) }
                if page.isMultiple(of: 2) { try storage.removeSubscription(id) }
            }
            #expect(storage.holders.entryCount == 0)
            #expect(table.cachedCount == 0)
        }
    }

    private func change(
        _ storage: SQLiteClientStorage, _ oracle: inout Oracle, _ random: inout SeededGenerator, _ step: Int
    ) throws {
        let ids = oracle.members.keys.sorted()
        guard let id = ids.randomElement(using: &random), ids.count >= 4 else {
            let text = String(repeating: "q", count: ids.count + 1 + step * 10)
            let id = try storage.addSubscription(ClientStoreTests.record(text)).id
            oracle.members[id] = []
            return
        }
        // Mostly a few objects of the same part, and sometimes more than an index files one by one.
        let count = Int.random(in: 0..<6, using: &random) == 0 ? 400 : 5
        let first = Int.random(in: 0..<(Self.objects.count - count), using: &random)
        let some = Self.objects[first..<first + count]
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1:
            for object in some { try storage.addMember(object, role: .root, to: id) }
            oracle.members[id]?.formUnion(some)
        case 2:
            for object in some {
                for role in MemberRole.allCases { try storage.removeMember(object, role: role, from: id) }
            }
            oracle.members[id]?.subtract(some)
        case 3:
            try storage.beginStaging(id)
            for object in some { try storage.stageMember(object, role: .linked, in: id) }
            oracle.members[id]?.formUnion(oracle.staged[id] ?? [])
            oracle.staged[id] = Set(some)
        case 4 where storage.isStaging(id) && Bool.random(using: &random):
            try storage.abandonStaging(id)
            oracle.members[id]?.formUnion(oracle.staged.removeValue(forKey: id) ?? [])
        case 4 where storage.isStaging(id):
            _ = try storage.finishStaging(id)
            oracle.members[id] = oracle.staged.removeValue(forKey: id) ?? []
        case 5:
            guard var record = storage.subscriptions.first(where: { $0.id == id }) else { return }
            record.isDormant.toggle()
            try storage.updateSubscription(record)
            if record.isDormant { oracle.dormant.insert(id) } else { oracle.dormant.remove(id) }
        case 6:
            try storage.removeSubscription(id)
            oracle.members[id] = nil
            oracle.staged[id] = nil
            oracle.dormant.remove(id)
        default:
            for object in some.prefix(2) {
                try storage.evict(object)
                for id in ids {
                    oracle.members[id]?.remove(object)
                    oracle.staged[id]?.remove(object)
                }
                guard case .string(let name) = object.key else { return }
                try storage.insert(Garage.car(name), ofClass: Garage.car)
            }
        }
    }

    private func compare(
        _ storage: SQLiteClientStorage, _ oracle: Oracle, _ random: inout SeededGenerator, _ comment: Comment
    ) throws {
        for _ in 0..<20 {
            let object = Self.objects.randomElement(using: &random) ?? Self.objects[0]
            let active = oracle.holders(of: object).subtracting(oracle.dormant)
            #expect(try storage.isHeld(object, excluding: nil) == !active.isEmpty, comment)
            let members = Set(oracle.members.keys.filter { oracle.members[$0]?.contains(object) ?? false })
            #expect(try Set(storage.subscriptions(having: object, role: nil)) == members, comment)
            guard let id = oracle.members.keys.sorted().randomElement(using: &random) else { continue }
            #expect(try storage.isHeld(object, excluding: id) == !active.subtracting([id]).isEmpty, comment)
        }
        for id in oracle.members.keys {
            let own = oracle.members[id, default: []].union(oracle.staged[id] ?? [])
            let exclusive = own.filter { oracle.holders(of: $0).subtracting(oracle.dormant).subtracting([id]).isEmpty }
            #expect(try Set(storage.exclusiveMembers(of: id)) == exclusive, comment)
        }
        #expect(storage.subscriptionCount == oracle.members.count, comment)
        #expect(Set(storage.dormantSubscriptions.map(\.id)) == oracle.dormant, comment)
    }
}
