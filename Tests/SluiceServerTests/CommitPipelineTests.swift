import SluiceModel
import SluiceStorage
import SluiceViews
import SluiceWire
import Testing

@testable import SluiceServer

/// The results of concurrent uploads: the rules of merging, and that each upload is applied once.
@Suite struct CommitPipelineTests {
    private let storage: SQLiteServerStorage
    private let now = Timestamp(microseconds: 1_000_000_000)
    private let object = ObjectRef(0, .int(1))

    init() throws {
        storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        let schema = try Schema([
            ClassSchema(
                "User", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("name", .scalar(.string)), Property("views", .scalar(.int)),
                ])
        ])
        try storage.transaction {
            _ = try storage.merge(schema, sides: ("the server", "the test"))
            for _ in 0..<3 { _ = try storage.makeClient(userID: nil, nonce: ObjectID(high: 0, low: 0), createdAt: now) }
        }
    }

    private func upload(
        client: UInt64, sequence: UInt64 = 1, base: UInt64 = 0, at time: Int64, _ actions: ObjectOperation.Action...
    ) -> Upload {
        Upload(
            session: SessionID(connection: client, session: 1), clientID: client, userID: nil,
            changeset: Changeset(
                sequence: sequence, baseVersion: base, timestamp: HybridTimestamp(microseconds: time),
                operations: actions.map { ObjectOperation(object, $0) }))
    }

    @discardableResult
    private func commit(_ uploads: Upload...) throws -> CommittedGroup {
        try CommitPipeline(storage: storage, workerID: nil).commit(uploads, now: now)
    }

    private func create(name: String = "", views: Int64 = 0) -> ObjectOperation.Action {
        .create([FieldOperation(1, .set(.string(name))), FieldOperation(2, .set(.int(views)))])
    }

    private var values: [Value]? { get throws { try storage.row(object)?.values } }

    private static func name(_ name: String) -> ObjectOperation.Action {
        .update([FieldOperation(1, .set(.string(name)))])
    }
    private static func views(_ change: FieldOperation.Change) -> ObjectOperation.Action {
        .update([FieldOperation(2, change)])
    }

    @Test(arguments: [false, true]) func ofConcurrentAssignmentsTheLaterWinsInWhateverOrderTheyCome(swapped: Bool)
        throws
    {
        try commit(upload(client: 1, at: 1, create()))
        let early = upload(client: 2, base: 1, at: 10, Self.name("early"))
        let late = upload(client: 3, base: 1, at: 20, Self.name("late"))
        let first = try commit(swapped ? late : early)
        let second = try commit(swapped ? early : late)
        #expect(try values?[1] == .string("late"))
        #expect(first.supersededCount == 0 && second.supersededCount == (swapped ? 1 : 0))
    }

    @Test func anEarlierClockWinsWhereTheWriterKnewWhatItReplaced() throws {
        try commit(upload(client: 1, at: 50, create(name: "old")))
        try commit(upload(client: 2, base: 1, at: 10, Self.name("new")))
        #expect(try values?[1] == .string("new"))
    }

    @Test(arguments: [false, true]) func additionsCountOnTopOfAnAssignmentBeforeThem(swapped: Bool) throws {
        try commit(upload(client: 1, at: 1, create()))
        let set = upload(client: 2, base: 1, at: 10, Self.views(.set(.int(100))))
        let add = upload(client: 3, base: 1, at: 20, Self.views(.add(.int(5))))
        try commit(swapped ? add : set)
        try commit(swapped ? set : add)
        #expect(try values?[2] == .int(105))
    }

    @Test func concurrentAdditionsAddUp() throws {
        try commit(upload(client: 1, at: 1, create(views: 1)))
        try commit(
            upload(client: 2, base: 1, at: 10, Self.views(.add(.int(5)))),
            upload(client: 3, base: 1, at: 10, Self.views(.add(.int(7)))))
        #expect(try values?[2] == .int(13))
    }

    @Test func aDeleteBeatsConcurrentUpdates() throws {
        try commit(upload(client: 1, at: 1, create()))
        try commit(upload(client: 2, base: 1, at: 10, .delete))
        let group = try commit(upload(client: 3, base: 1, at: 20, Self.name("late")))
        #expect(try storage.row(object) == nil)
        #expect(group.supersededCount == 1 && group.rejections.isEmpty)
    }

    @Test func aCreationLaterThanADeletionThatItDidNotKnowMakesTheObjectAnew() throws {
        try commit(upload(client: 1, at: 1, create(name: "old", views: 3)))
        try commit(upload(client: 2, base: 1, at: 10, .delete))
        try commit(upload(client: 3, base: 1, at: 20, .create([FieldOperation(1, .set(.string("new")))])))
        let all = try values
        #expect(all == [.int(1), .string("new"), .int(0)])
    }

    @Test func anUploadThatComesTwiceIsAcknowledgedTwiceAndAppliedOnce() throws {
        try commit(upload(client: 1, at: 1, create()))
        let add = upload(client: 2, base: 1, at: 10, Self.views(.add(.int(5))))
        try commit(add)
        let again = try commit(add)
        #expect(again.acknowledged == [add.session: 1])
        #expect(try values?[2] == .int(5))
        #expect(storage.version == 2)
    }

    @Test func aTransactionWithOneBadOperationIsRefusedWhole() throws {
        let bad = Upload(
            session: SessionID(connection: 1, session: 1), clientID: 1, userID: nil,
            changeset: Changeset(
                sequence: 1, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1),
                operations: [
                    ObjectOperation(object, create()),
                    ObjectOperation(object, .update([FieldOperation(1, .set(.int(3)))])),
                ]))
        let group = try commit(bad)
        #expect(group.rejections.map(\.rejection.reasons[0].message) == ["User.name is string, and the value is int"])
        #expect(group.acknowledged == [bad.session: 1])
        #expect(try storage.row(object) == nil)
    }

    @Test(arguments: [(2, true), (3, false)])
    func aTransactionOfTooManyOperationsIsRefusedWhole(count: Int64, isTaken: Bool) throws {
        let large = Upload(
            session: SessionID(connection: 1, session: 1), clientID: 1, userID: nil,
            changeset: Changeset(
                sequence: 1, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1),
                operations: (1...count).map { ObjectOperation(ObjectRef(0, .int($0)), create()) }))
        let group = try CommitPipeline(storage: storage, workerID: nil, operationCountMax: 2).commit([large], now: now)
        #expect(group.rejections.map(\.rejection.reasons[0].code) == (isTaken ? [] : [.limitExceeded]))
        #expect(group.acknowledged == [large.session: 1])
        #expect(try (storage.row(object) != nil) == isTaken)
    }

    @Test func aClockFarAheadDoesNotWinForEver() throws {
        try commit(upload(client: 1, at: 1, create()))
        try commit(upload(client: 2, base: 1, at: .max - 1, Self.name("from the future")))
        try commit(upload(client: 3, base: 1, at: now.microseconds + HybridClock.driftMax + 1, Self.name("later")))
        let later = now.microseconds + 2 * HybridClock.driftMax
        let group = try CommitPipeline(storage: storage, workerID: nil).commit(
            [upload(client: 3, sequence: 2, base: 1, at: later, Self.name("much later"))],
            now: Timestamp(microseconds: later))
        #expect(group.supersededCount == 0)
        #expect(try values?[1] == .string("much later"))
    }

    @Test func whatOneUploadMakesAndChangesIsOneCreation() throws {
        let group = try commit(upload(client: 1, at: 1, create(name: "a", views: 1), Self.views(.add(.int(4)))))
        #expect(try values == [.int(1), .string("a"), .int(5)])
        #expect(group.delta.changes.map(\.old) == [nil])
        #expect(group.delta.changes.first?.new == (try storage.row(object)))
        var kinds: [WriteKind] = []
        try storage.forEachLogEntry(after: 0) { entry in
            kinds += entry.changes.map(\.kind)
            return true
        }
        #expect(kinds == [.create])
    }

    @Test func whatOneUploadMakesAndDeletesLeavesNoTrace() throws {
        let group = try commit(upload(client: 1, at: 1, create(name: "a"), .delete))
        #expect(try values == nil && group.delta.changes.isEmpty)
        #expect(try storage.history(of: object, since: 0).latestAssignment(of: 1) == nil)
        try commit(upload(client: 1, sequence: 2, at: 2, create(name: "a"), .delete, create(name: "b")))
        #expect(try values == [.int(1), .string("b"), .int(0)])
    }
}
