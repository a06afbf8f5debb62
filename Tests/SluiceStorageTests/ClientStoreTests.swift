import SluiceModel
import SluiceQuery
import SluiceStorage
import TestSupport
import Testing

struct ClientStoreTests {
    static func record(_ text: String, isDormant: Bool = false) -> SubscriptionRecord {
        SubscriptionRecord(
            id: 0, canonicalText: text, hash: ObjectID(high: 7, low: UInt64(text.utf8.count)), className: "Car",
            createdAt: Timestamp(microseconds: 1), updatedAt: Timestamp(microseconds: 2), isDormant: isDormant)
    }

    private func members(of id: UInt64, _ role: MemberRole = .root, in storage: any ClientReading) throws -> Set<
        ObjectRef
    > {
        var result: Set<ObjectRef> = []
        try storage.forEachMember(of: id, role: role) { object in
            result.insert(object)
            return true
        }
        #expect(result.count == storage.memberCount(of: id, role: role))
        return result
    }

    @Test func outboxKeepsChangesetsUntilTheyAreRemoved() throws {
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("store"))
        let changesets = (1...3).map { number in
            Changeset(
                sequence: UInt64(number), baseVersion: 4, timestamp: HybridTimestamp(microseconds: Int64(number)),
                operations: [
                    ObjectOperation(Garage.carRef("A"), .update([FieldOperation(1, .add(.int(Int64(number))))])),
                    ObjectOperation(Garage.ownerRef(UInt64(number)), .delete),
                    ObjectOperation(Garage.carRef("A"), .update([FieldOperation(1, .set(.int(0)))])),
                ])
        }
        do {
            let storage = try Garage.client(location)
            #expect(try storage.pendingObjects.isEmpty)
            for changeset in changesets { try storage.write { try storage.appendToOutbox(changeset) } }
        }
        let storage = try SQLiteClientStorage.open(location)
        #expect(storage.outboxCount == 3)
        #expect(storage.lastSequence == 3)
        #expect(try storage.hasPending(Garage.carRef("A")))
        #expect(try !storage.hasPending(Garage.carRef("B")))
        #expect(try Set(storage.pendingObjects) == Set([Garage.carRef("A")] + (1...3).map { Garage.ownerRef($0) }))
        let pending = try storage.pendingOperations(of: Garage.carRef("A"))
        #expect(pending.map(\.sequence) == [1, 1, 2, 2, 3, 3])
        #expect(pending.map(\.operation) == changesets.flatMap { [$0.operations[0], $0.operations[2]] })
        let removed = try storage.write { try storage.removeFromOutbox(through: 2) }
        #expect(removed == Array(changesets.prefix(2)))
        #expect(try storage.pendingOperations(of: Garage.carRef("A")).map(\.sequence) == [3, 3])
        #expect(try !storage.hasPending(Garage.ownerRef(1)))
        _ = try storage.write { try storage.removeFromOutbox(through: 9) }
        #expect(storage.outboxCount == 0)
        #expect(storage.lastSequence == 3)
        let error = #expect(throws: StorageError.self) {
            try storage.write { try storage.appendToOutbox(changesets[0]) }
        }
        #expect(error?.code == .misuse)
    }

    @Test func stateOfSyncBaseImagesAndMetadataSurviveReopening() throws {
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("store"))
        let state = SyncState(
            databaseID: ObjectID(high: 1, low: .max), epoch: .max, clientID: 3, nonce: ObjectID(high: 0, low: 9),
            version: 77)
        let image = Garage.car("A", price: 3, owner: Garage.ownerKey(1))
        do {
            let storage = try Garage.client(location)
            #expect(storage.syncState == nil)
            try storage.write {
                try storage.setSyncState(state)
                try storage.setClock(HybridTimestamp(microseconds: 5))
                try storage.setMetadata("x", [1, 2])
                try storage.setBaseImage(.row(image), of: Garage.carRef("A"))
                try storage.setBaseImage(BaseImage.none, of: Garage.carRef("B"))
            }
            #expect(throws: (any Error).self) {
                try storage.write {
                    try storage.setSyncState(nil)
                    try storage.setClock(HybridTimestamp(microseconds: 6))
                    try storage.setMetadata("x", nil)
                    try storage.setBaseImage(nil, of: Garage.carRef("A"))
                    throw CancellationError()
                }
            }
        }
        let storage = try SQLiteClientStorage.open(location)
        #expect(storage.syncState == state)
        #expect(storage.clock.microseconds == 5)
        #expect(try storage.metadata("x") == [1, 2])
        #expect(try storage.metadata("y") == nil)
        #expect(try storage.baseImage(of: Garage.carRef("A")) == .row(image))
        #expect(try storage.baseImage(of: Garage.carRef("B")) == BaseImage.none)
        #expect(try storage.baseImage(of: Garage.carRef("C")) == nil)
        try storage.write { try storage.setBaseImage(nil, of: Garage.carRef("A")) }
        #expect(try storage.baseImage(of: Garage.carRef("A")) == nil)
    }

    @Test(arguments: Array(1...6) as [UInt64])
    func membershipsAreSetsOfObjectsThatSurviveRollbackAndReopening(seed: UInt64) throws {
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("store"))
        var random = SeededGenerator(seed: seed)
        var oracle: [UInt64: [MemberRole: Set<ObjectRef>]] = [:]
        var ids: [UInt64] = []
        let objects = (0..<30).map { Garage.carRef("c\($0)") } + (0..<30).map { Garage.ownerRef(UInt64($0)) }
        do {
            let storage = try Garage.client(location)
            try storage.write {
                for number in 0..<30 {
                    try storage.insert(Garage.car("c\(number)"), ofClass: Garage.car)
                    try storage.insert(Garage.owner(UInt64(number)), ofClass: Garage.owner)
                }
                for number in 0..<3 { ids.append(try storage.addSubscription(Self.record("q\(number)")).id) }
            }
            for _ in 0..<40 {
                var draft = oracle
                let isKept = Bool.random(using: &random)
                do {
                    try storage.write {
                        for _ in 0..<8 {
                            let id = ids.randomElement(using: &random)!
                            let role = MemberRole.allCases.randomElement(using: &random)!
                            let object = objects.randomElement(using: &random)!
                            if Int.random(in: 0..<3, using: &random) > 0 {
                                let isNew = draft[id, default: [:]][role, default: []].insert(object).inserted
                                #expect(try storage.addMember(object, role: role, to: id) == isNew)
                            } else {
                                let isGone = draft[id, default: [:]][role, default: []].remove(object) != nil
                                #expect(try storage.removeMember(object, role: role, from: id) == isGone)
                            }
                        }
                        if !isKept { throw CancellationError() }
                    }
                } catch is CancellationError {}
                if isKept { oracle = draft }
            }
        }
        let storage = try SQLiteClientStorage.open(location)
        for id in ids {
            for role in MemberRole.allCases {
                let expected = oracle[id]?[role] ?? []
                #expect(try members(of: id, role, in: storage) == expected, "seed \(seed)")
                let read = try storage.read { try members(of: id, role, in: $0) }
                #expect(read == expected, "seed \(seed)")
                var rows: Set<ObjectRef> = []
                try storage.forEachMemberRow(of: id, role: role) { row in
                    #expect(try row.row().key == row.object.key)
                    rows.insert(try row.object)
                    return true
                }
                #expect(rows == expected)
            }
            let own = Set((oracle[id] ?? [:]).values.joined())
            let others = Set(ids.filter { $0 != id }.flatMap { (oracle[$0] ?? [:]).values.joined() })
            #expect(try Set(storage.exclusiveMembers(of: id)) == own.subtracting(others), "seed \(seed)")
            for object in objects {
                #expect(try storage.isMember(object, of: id, role: nil) == own.contains(object))
                #expect(try storage.isHeld(object, excluding: id) == others.contains(object))
            }
        }
        let held = Set(oracle.values.flatMap { $0.values.joined() })
        let unheld = try storage.unheldObjects(ofClass: Garage.car) + storage.unheldObjects(ofClass: Garage.owner)
        #expect(Set(unheld) == Set(objects).subtracting(held))
    }

    @Test func stagingReplacesTheMembershipAtOnce() throws {
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("store"))
        let names = ["A", "B", "C"]
        var id: UInt64 = 0
        do {
            let storage = try Garage.client(location)
            try storage.write {
                for name in names { try storage.insert(Garage.car(name), ofClass: Garage.car) }
                id = try storage.addSubscription(Self.record("q")).id
                for name in ["A", "B"] { try storage.addMember(Garage.carRef(name), role: .root, to: id) }
                try storage.beginStaging(id)
                try storage.stageMember(Garage.carRef("B"), role: .linked, in: id)
                try storage.stageMember(Garage.carRef("C"), role: .root, in: id)
                try storage.stageMember(Garage.carRef("A"), role: .root, in: id)
                try storage.unstageMember(Garage.carRef("A"), role: .root, in: id)
            }
        }
        let storage = try SQLiteClientStorage.open(location)
        #expect(storage.isStaging(id))
        #expect(try members(of: id, in: storage) == [Garage.carRef("A"), Garage.carRef("B")])
        #expect(try storage.isHeld(Garage.carRef("C"), excluding: nil))
        let former = try storage.write { try storage.finishStaging(id) }
        #expect(former == [Garage.carRef("A")])
        #expect(!storage.isStaging(id))
        #expect(try members(of: id, in: storage) == [Garage.carRef("C")])
        #expect(try members(of: id, .linked, in: storage) == [Garage.carRef("B")])
        #expect(try storage.unheldObjects(ofClass: Garage.car) == [Garage.carRef("A")])
        try storage.write { try storage.removeSubscription(id) }
        #expect(storage.subscriptions.isEmpty)
        #expect(try storage.unheldObjects(ofClass: Garage.car).count == 3)
    }

    @Test(arguments: [false, true]) func whatWasStagedStaysWithItsSubscription(isBeginAnew: Bool) throws {
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("store"))
        var id: UInt64 = 0
        do {
            let storage = try Garage.client(location)
            try storage.write {
                for name in ["A", "B", "C"] { try storage.insert(Garage.car(name), ofClass: Garage.car) }
                id = try storage.addSubscription(Self.record("q")).id
                for name in ["A", "B"] { try storage.addMember(Garage.carRef(name), role: .root, to: id) }
                #expect(try !storage.abandonStaging(id))
                try storage.beginStagingCopy(id)
                try storage.unstageMember(Garage.carRef("A"), role: .root, in: id)
                #expect(try !storage.abandonStaging(id))
                #expect(storage.subscriptions.map(\.hasHoles) == [false])
                try storage.beginStaging(id)
                try storage.stageMember(Garage.carRef("B"), role: .linked, in: id)
                try storage.stageMember(Garage.carRef("C"), role: .root, in: id)
                if isBeginAnew { try storage.beginStaging(id) } else { #expect(try storage.abandonStaging(id)) }
            }
        }
        let storage = try SQLiteClientStorage.open(location)
        #expect(storage.isStaging(id) == isBeginAnew)
        #expect(storage.subscriptions.map(\.hasHoles) == [true])
        #expect(try members(of: id, in: storage) == [Garage.carRef("A"), Garage.carRef("C")])
        #expect(try members(of: id, .linked, in: storage) == [Garage.carRef("B")])
        #expect(try storage.exclusiveMembers(of: id).count == 3)
    }

    @Test func evictionLeavesHolesInDormantSubscriptionsWhichProtectNothing() throws {
        let storage = try Garage.client()
        let (active, dormant) = try storage.write {
            try storage.insert(Garage.car("A"), ofClass: Garage.car)
            let active = try storage.addSubscription(Self.record("active"))
            let dormant = try storage.addSubscription(Self.record("dormant", isDormant: true))
            for record in [active, dormant] { try storage.addMember(Garage.carRef("A"), role: .root, to: record.id) }
            return (active, dormant)
        }
        #expect(try storage.exclusiveMembers(of: active.id) == [Garage.carRef("A")])
        #expect(try !storage.isHeld(Garage.carRef("A"), excluding: active.id))
        try storage.write {
            try storage.removeMember(Garage.carRef("A"), role: .root, from: active.id)
            try storage.evict(Garage.carRef("A"))
            try storage.updateSubscription(dormant)
        }
        #expect(storage.subscriptions.map(\.hasHoles) == [false, true])
        #expect(storage.memberCount(of: dormant.id, role: .root) == 0)
        // The same key is now another row, which is not a member.
        try storage.write { try storage.insert(Garage.car("A"), ofClass: Garage.car) }
        #expect(try !storage.isMember(Garage.carRef("A"), of: dormant.id, role: nil))
        try storage.write {
            try storage.beginStaging(dormant.id)
            _ = try storage.finishStaging(dormant.id)
        }
        #expect(storage.subscriptions.map(\.hasHoles) == [false, false])
    }

    @Test func ghostsCannotBeMembersAndHiddenObjectsStayOnes() throws {
        let storage = try Garage.client()
        let id = try storage.write {
            try storage.insert(Garage.car("A", owner: Garage.ownerKey(1)), ofClass: Garage.car)
            let id = try storage.addSubscription(Self.record("q")).id
            try storage.addMember(Garage.carRef("A"), role: .root, to: id)
            try storage.delete(Garage.carRef("A"), version: 0)
            return id
        }
        #expect(try storage.isMember(Garage.carRef("A"), of: id, role: .root))
        #expect(try members(of: id, in: storage) == [Garage.carRef("A")])
        var rowCount = 0
        try storage.forEachMemberRow(of: id, role: .root) { _ in
            rowCount += 1
            return true
        }
        #expect(rowCount == 0)
        let error = #expect(throws: StorageError.self) {
            try storage.write { try storage.addMember(Garage.ownerRef(1), role: .linked, to: id) }
        }
        #expect(error?.code == .notFound)
    }

    @Test func subscriptionsKeepTheirRecordsAndIdsAreNeverGivenAgain() throws {
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("store"))
        var kept: SubscriptionRecord
        do {
            let storage = try Garage.client(location)
            kept = try storage.write {
                let kept = try storage.addSubscription(Self.record("Car WHERE name == \"é\0\""))
                let removed = try storage.addSubscription(Self.record("b"))
                try storage.removeSubscription(removed.id)
                return kept
            }
            kept.state = .complete
            kept.version = .max
            kept.isDormant = true
            try storage.write { try storage.updateSubscription(kept) }
        }
        let storage = try SQLiteClientStorage.open(location)
        #expect(storage.subscriptions == [kept])
        #expect(try storage.write { try storage.addSubscription(Self.record("c")) }.id == 3)
        let error = #expect(throws: StorageError.self) { try storage.write { try storage.removeSubscription(2) } }
        #expect(error?.code == .notFound)
    }
}
