import CSQLite
import SluiceModel
import SluiceStorage
import SluiceWire
import TestSupport
import Testing

/// The outbox in memory and on disk, compared with a list of changesets.
@Suite(.ownThread) struct OutboxTests {
    private static let objects = (0..<6).map { Garage.carRef("\($0)") } + (0..<6).map { Garage.ownerRef($0) }

    private static func changeset(
        _ sequence: UInt64, _ count: Int, using random: inout SeededGenerator
    ) -> Changeset {
        let operations = (0..<count).map { _ in
            let object = random.pick(objects)
            let action: ObjectOperation.Action =
                random.chance(20)
                ? .delete : .update([FieldOperation(0, .set(.string(random.text(random.chance(5) ? 900 : 4))))])
            return ObjectOperation(object, action)
        }
        return Changeset(
            sequence: sequence, baseVersion: 4, timestamp: HybridTimestamp(microseconds: Int64(sequence)),
            operations: operations)
    }

    private func check(_ storage: SQLiteClientStorage, _ expected: [Changeset], last: UInt64) throws {
        #expect(storage.outboxCount == expected.count)
        #expect(storage.lastSequence == last)
        var found: [Changeset] = []
        let after = expected.isEmpty ? 0 : expected[expected.count / 2].sequence
        try storage.forEachOutboxChangeset(after: after) { changeset in
            found.append(changeset)
            return true
        }
        #expect(found == expected.filter { $0.sequence > after })
        let pending = Set(expected.flatMap(\.operations).map(\.object))
        #expect(try Set(storage.pendingObjects) == pending)
        for object in Self.objects {
            #expect(try storage.hasPending(object) == pending.contains(object))
            let operations = try storage.pendingOperations(of: object)
            #expect(operations.map(\.operation) == expected.flatMap(\.operations).filter { $0.object == object })
        }
        let sorted = Self.objects.sorted()
        for (start, least) in sorted.enumerated() {
            for greatest in sorted[start...] where try storage.hasNothingPending(in: least...greatest) {
                #expect(!pending.contains { (least...greatest).contains($0) })
            }
        }
        guard !storage.isInTransaction else { return }
        let read = try storage.read { try (Set($0.pendingObjects), Set(Self.objects.filter($0.hasPending))) }
        #expect(read == (pending, pending))
    }

    /// Adds, removes, rolls back and reopens at random.
    @Test(arguments: [0, 1, 7, 1_000], seeds(5))
    func theOutboxIsTheListOfItsChangesetsHoweverMuchOfItIsInMemory(resident: Int, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("store"))
        func open() throws -> SQLiteClientStorage {
            try SQLiteClientStorage.open(location, residentOperationCountMax: resident)
        }
        var storage = try open()
        try storage.write { _ = try storage.merge(Garage.schema(), sides: ("a", "b")) }
        var expected: [Changeset] = []
        var last: UInt64 = 0
        for _ in 0..<60 {
            let before = (expected, last)
            let isUndone = random.chance(15)
            try storage.transaction(undone: isUndone) {
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    if random.chance(60) {
                        last += 1
                        // Some are so large that what has left the outbox is removed from the table of pending objects.
                        let count = random.chance(10) ? 300 : Int.random(in: 1...3, using: &random)
                        let changeset = Self.changeset(last, count, using: &random)
                        try storage.appendToOutbox(changeset)
                        expected.append(changeset)
                    } else {
                        let through = UInt64.random(in: 0...last, using: &random)
                        let removed = try storage.removeFromOutbox(through: through)
                        #expect(removed == expected.filter { $0.sequence <= through })
                        expected.removeAll { $0.sequence <= through }
                    }
                }
                try check(storage, expected, last: last)
            }
            if isUndone { (expected, last) = before }
            try check(storage, expected, last: last)
            guard random.chance(10) else { continue }
            storage.close()
            storage = try open()
            try check(storage, expected, last: last)
        }
    }

    private func filled(_ count: UInt64, resident: Int = 1_000) throws -> SQLiteClientStorage {
        var random = SeededGenerator(seed: 1)
        let storage = try SQLiteClientStorage.open(.memory, residentOperationCountMax: resident)
        try storage.write { _ = try storage.merge(Garage.schema(), sides: ("a", "b")) }
        for sequence in 0..<count {
            try storage.write { try storage.appendToOutbox(Self.changeset(sequence + 1, 2, using: &random)) }
        }
        return storage
    }

    @Test func acknowledgingManyTransactionsTakesAsManyStatementsAsAcknowledgingOne() throws {
        func statementCount(removing count: UInt64) throws -> Int {
            let storage = try filled(101)
            let faults = FaultPlan(failing: .max, with: .full)
            try storage.write {
                storage.faults = faults
                let removed = try storage.removeFromOutbox(through: count)
                #expect(removed.count == Int(count))
                storage.faults = nil
            }
            return faults.attempts
        }
        #expect(try statementCount(removing: 100) == statementCount(removing: 1))
    }

    @Test func aTransactionOfAThousandOperationsTakesAsManyStatementsAsOneOfTwo() throws {
        func statementCount(_ count: Int) throws -> Int {
            let storage = try filled(1)
            let operations = (0..<count).map { ObjectOperation(Garage.ownerRef(UInt64($0)), .delete) }
            let faults = FaultPlan(failing: .max, with: .full)
            storage.faults = faults
            try storage.write {
                try storage.setClock(HybridTimestamp(microseconds: 77))
                try storage.appendToOutbox(
                    Changeset(
                        sequence: 2, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 77),
                        operations: operations))
            }
            storage.faults = nil
            #expect(try storage.hasPending(Garage.ownerRef(UInt64(count - 1))))
            return faults.attempts
        }
        #expect(try statementCount(1_000) == statementCount(2))
        // Beginning, the changeset, the pending row, the counters together, and the commit.
        #expect(try statementCount(1) <= 6)
    }

    @Test func manyCreationsBehindEachOtherAreToldApartWithoutALookAtEach() throws {
        let storage = try filled(0)
        for sequence in 1...3 as ClosedRange<UInt64> {
            let operations = (sequence * 1_000..<sequence * 1_000 + 100).map {
                ObjectOperation(Garage.ownerRef($0), .create([]))
            }
            try storage.write {
                try storage.appendToOutbox(
                    Changeset(
                        sequence: sequence, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 77),
                        operations: operations))
            }
        }
        let first = Garage.ownerRef(1_000)...Garage.ownerRef(1_099)
        #expect(try !storage.hasNothingPending(in: first))
        _ = try storage.write { try storage.removeFromOutbox(through: 1) }
        #expect(try storage.hasNothingPending(in: first))
        #expect(try !storage.hasNothingPending(in: Garage.ownerRef(1_000)...Garage.ownerRef(2_000)))
    }

    @Test func aChangesetIsNotDecodedAgainWhenItIsReadAndRemoved() throws {
        let storage = try filled(50)
        try storage.forEachOutboxChangeset(after: 0) { _ in true }
        let removed = try storage.write { try storage.removeFromOutbox(through: 50) }
        #expect(removed.count == 50)
        #expect(storage.decodedChangesetCount == 0)
        let small = try filled(50, resident: 0)
        try small.forEachOutboxChangeset(after: 0) { _ in true }
        #expect(small.decodedChangesetCount == 50)
    }

    @Test func rowsOfAcknowledgedChangesetsAreRemovedOnceTheyAreHalfOfAll() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("store")
        let storage = try SQLiteClientStorage.open(.file(path))
        try storage.write { _ = try storage.merge(Garage.schema(), sides: ("a", "b")) }
        for sequence in 1...2_000 as ClosedRange<UInt64> {
            let operation = ObjectOperation(Garage.ownerRef(sequence), .delete)
            try storage.write {
                try storage.appendToOutbox(
                    Changeset(
                        sequence: sequence, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1),
                        operations: [operation]))
            }
        }
        let faults = FaultPlan(failing: .max, with: .full)
        storage.faults = faults
        var rows = 2_000
        for sequence in stride(from: 20, to: 2_000, by: 20) as StrideTo<UInt64> {
            try storage.write { _ = try storage.removeFromOutbox(through: sequence) }
            let left = 2_000 - Int(sequence)
            rows = try storage.pendingRowCount()
            #expect(rows <= max(2 * left, left + 256), "\(rows) rows for \(left) pending operations")
        }
        #expect(rows < 300)
    }
}
