import Foundation
import SluiceModel
import SluiceStorage
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceServer

/// Clients that come back with many operations on few objects: the cost of merging them, and the result.
@Suite(.ownThread) struct BacklogMergeTests {
    private static let now = Timestamp(microseconds: 1_000_000_000_000)

    private static func storage(clientCount: Int) throws -> SQLiteServerStorage {
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        let schema = try Schema([
            ClassSchema(
                "Counter", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("name", .scalar(.string)), Property("count", .scalar(.int)),
                    Property("tags", PropertyType(.scalar(.int), container: .list)),
                    Property("price", .scalar(.decimal)),
                    Property("labels", PropertyType(.scalar(.int), container: .set)),
                ])
        ])
        try storage.transaction {
            _ = try storage.merge(schema, sides: ("the server", "the test"))
            for _ in 0..<clientCount {
                _ = try storage.makeClient(userID: nil, nonce: ObjectID(high: 0, low: 0), createdAt: now)
            }
        }
        return storage
    }

    private static func upload(
        _ client: UInt64, _ sequence: UInt64, base: UInt64, at time: Int64, _ operations: [ObjectOperation]
    ) -> Upload {
        Upload(
            session: SessionID(connection: client, session: 1), clientID: client, userID: nil,
            changeset: Changeset(
                sequence: sequence, baseVersion: base, timestamp: HybridTimestamp(microseconds: time),
                operations: operations))
    }

    // MARK: Work

    /// How two offline clients wrote to one object.
    enum Backlog: CaseIterable {
        case increments, assignments, assignmentsAgainstIncrements, deletionsAgainstIncrements
        case edits, clearingsAgainstEdits

        func operation(_ number: Int, client: UInt64) -> ObjectOperation.Action {
            switch (self, client) {
            case (.increments, _), (.assignmentsAgainstIncrements, 1), (.deletionsAgainstIncrements, 1):
                .update([FieldOperation(2, .add(.int(1)))])
            case (.assignments, _), (.assignmentsAgainstIncrements, _):
                .update([FieldOperation(2, .set(.int(Int64(number))))])
            case (.edits, _), (.clearingsAgainstEdits, 1):
                .update([FieldOperation(5, .edit(ElementEdits(inserting: [.int(Int64(number % 7))])))])
            case (.clearingsAgainstEdits, _): .update([FieldOperation(5, .clear)])
            case (.deletionsAgainstIncrements, _):
                number % 2 == 0 ? .delete : .create([FieldOperation(2, .set(.int(Int64(number))))])
            }
        }
    }

    /// Counts the steps of merging two backlogs of `count` operations each on one object. The backlogs arrive one after
    /// the other, and their operations were made in turn.
    private func steps(_ backlog: Backlog, count: Int) throws -> UInt64 {
        let storage = try Self.storage(clientCount: 2)
        let object = ObjectRef(0, .int(1))
        let pipeline = CommitPipeline(storage: storage, workerID: nil)
        _ = try pipeline.commit(
            [Self.upload(1, 1, base: 0, at: 1, [ObjectOperation(object, .create([]))])], now: Self.now)
        for client in [1, 2] as [UInt64] {
            let uploads = (1...count).map { number in
                Self.upload(
                    client, UInt64(number + 1), base: 1, at: Int64(10 * number) + Int64(client),
                    [ObjectOperation(object, backlog.operation(number, client: client))])
            }
            for start in stride(from: 0, to: count, by: 100) {
                _ = try pipeline.commit(Array(uploads[start..<min(count, start + 100)]), now: Self.now)
            }
        }
        return storage.mergeStepCount
    }

    @Test(arguments: Backlog.allCases)
    func fourTimesTheBacklogOnOneObjectIsAboutFourTimesTheWork(backlog: Backlog) throws {
        let small = try steps(backlog, count: 250)
        let large = try steps(backlog, count: 1_000)
        #expect(small > 250)
        #expect(large < 6 * small, "\(small) steps for 250 operations a client, \(large) for 1,000")
    }

    @Test func aBacklogThatNobodyContradictsAsksNothingOfTheLog() throws {
        let storage = try Self.storage(clientCount: 1)
        let pipeline = CommitPipeline(storage: storage, workerID: nil)
        let object = ObjectRef(0, .int(1))
        for number in 1...200 {
            let action = number == 1 ? .create([]) : Backlog.increments.operation(number, client: 1)
            let upload = Self.upload(1, UInt64(number), base: 0, at: Int64(number), [ObjectOperation(object, action)])
            _ = try pipeline.commit([upload], now: Self.now)
        }
        #expect(try storage.row(object)?.values[2] == .int(199))
        #expect(storage.mergeStepCount == 0)
    }

    // MARK: Memory

    /// Two clients that are connected write to the same objects, each without knowing what the other wrote last, and a
    /// third one comes back from long ago.
    @Test func theIndexOfWritesFollowsTheBasesOfClients() throws {
        let storage = try Self.storage(clientCount: 3)
        let pipeline = CommitPipeline(storage: storage, workerID: nil)
        let objects = (0..<1_000).map { ObjectRef(0, .int($0)) }
        var sequences: [UInt64] = [0, 0, 0, 0]
        func write(_ client: Int, base: UInt64, at time: Int64, _ value: Int64, to objects: [ObjectRef]) throws {
            sequences[client] += 1
            let operations = objects.map { ObjectOperation($0, .update([FieldOperation(2, .set(.int(value)))])) }
            let upload = Self.upload(UInt64(client), sequences[client], base: base, at: time, operations)
            _ = try pipeline.commit([upload], now: Self.now)
        }
        sequences[1] = 1
        _ = try pipeline.commit(
            [Self.upload(1, 1, base: 0, at: 1, objects.map { ObjectOperation($0, .create([])) })], now: Self.now)
        var largest = 0
        for round in 1...120 {
            // A clock that is behind, so that the writes before it have to be looked at.
            let time = Int64(1_000 + 10 * round) - (round % 2 == 0 ? 15 : 0)
            try write(1 + round % 2, base: storage.version - 1, at: time, Int64(round), to: objects)
            largest = max(largest, storage.mergeRecordCount)
        }
        #expect((2_000...40_000).contains(largest), "\(largest) writes")
        #expect(try storage.row(objects[0])?.values[2] == .int(119))

        // All writes are later than this one, and it knows none of them.
        try write(3, base: 1, at: 500, -1, to: [objects[0]])
        #expect(try storage.row(objects[0])?.values[2] == .int(119))
        #expect(storage.mergeRecordCount > 50_000)
        for round in 121...200 {
            let time = Int64(1_000 + 10 * round)
            try write(1 + round % 2, base: storage.version - 1, at: time, Int64(round), to: objects)
        }
        try write(1, base: storage.version - 1, at: 3_005, -1, to: [objects[1]])
        #expect(try storage.row(objects[1])?.values[2] == .int(-1))
        try write(2, base: storage.version - 1, at: 3_002, -2, to: [objects[1]])
        #expect(try storage.row(objects[1])?.values[2] == .int(-1))
        #expect((1...40_000).contains(storage.mergeRecordCount))
    }

    // MARK: Outcome

    /// A random operation on one of three objects.
    private func operation(_ generator: inout SeededGenerator) -> ObjectOperation {
        let object = ObjectRef(0, .int(Int64.random(in: 1...3, using: &generator)))
        func field() -> FieldOperation {
            let number = Int64.random(in: 1...100, using: &generator)
            let label = Value.int(number % 4)
            return switch Int.random(in: 0..<13, using: &generator) {
            case 11: FieldOperation(2, .setDefault(.int(number % 3)))
            case 12: FieldOperation(5, .setDefault(.set([label])))
            case 6, 7: FieldOperation(5, .edit(ElementEdits(inserting: [label, .int(7)])))
            case 8: FieldOperation(5, .edit(ElementEdits(inserting: [], erasing: [label])))
            case 9: FieldOperation(5, .set(.set([label])))
            case 10: FieldOperation(5, .clear)
            case 0: FieldOperation(1, .set(.string("\(number)")))
            case 1: FieldOperation(2, .set(.int(number)))
            case 2: FieldOperation(3, .set(.list([.int(number)])))
            case 3: FieldOperation(4, .set(.decimal(Decimal(number))))
            case 4: FieldOperation(4, .add(.decimal(Decimal(number))))
            default: FieldOperation(2, .add(.int(number)))
            }
        }
        switch Int.random(in: 0..<20, using: &generator) {
        case 0: return ObjectOperation(object, .delete)
        case 1: return ObjectOperation(object, .create([field()]))
        case 2: return ObjectOperation(object, .create([field(), field(), field()]))
        case 3: return ObjectOperation(object, .update([field(), field()]))
        default: return ObjectOperation(object, .update([field()]))
        }
    }

    @Test(arguments: 0..<16) func backlogsOfSeveralClientsMergeAsTheRulesReadOneByOneSay(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let clientCount = Int.random(in: 1...4, using: &generator)
        let storage = try Self.storage(clientCount: clientCount)
        let pipeline = CommitPipeline(storage: storage, workerID: nil)
        var naive = NaiveMerge(defaults: storage.schema[0].defaultValues(for: .int(0)))
        var sequences: [UInt64: UInt64] = [:]
        var bases: [UInt64: UInt64] = [:]
        var times: [UInt64: Int64] = [:]
        var superseded = 0
        // Most groups have operations of one client only, as backlogs do.
        for _ in 0..<60 {
            var group: [Upload] = []
            let owner = UInt64.random(in: 1...UInt64(clientCount), using: &generator)
            for _ in 0..<Int.random(in: 1...20, using: &generator) {
                let isOwners = Int.random(in: 0..<5, using: &generator) > 0
                let client = isOwners ? owner : UInt64.random(in: 1...UInt64(clientCount), using: &generator)
                sequences[client, default: 0] += 1
                times[client, default: 0] += Int64.random(in: 0...4, using: &generator)
                let operations = (0..<Int.random(in: 1...3, using: &generator)).map { _ in operation(&generator) }
                group.append(
                    Self.upload(
                        client, sequences[client]!, base: bases[client] ?? 0, at: times[client]!, operations))
            }
            for upload in group { naive.apply(upload.changeset, client: upload.clientID) }
            superseded += try pipeline.commit(group, now: Self.now).supersededCount
            for key in Int64(1)...3 {
                #expect(try storage.row(ObjectRef(0, .int(key)))?.values == naive.rows[key], "object \(key)")
            }
            // Sometimes a client catches up.
            if Int.random(in: 0..<6, using: &generator) == 0 { bases[owner] = storage.version }
        }
        #expect(superseded == naive.supersededCount)
    }
}
