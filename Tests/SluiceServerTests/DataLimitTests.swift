import SluiceModel
import SluiceStorage
import SluiceWire
import Testing

@testable import SluiceServer

/// What a server does about data beyond the limits.
struct DataLimitTests {
    private let storage: SQLiteServerStorage
    private let now = Timestamp(microseconds: 1_000_000_000)
    private let limits: DataLimits

    init() throws {
        var limits = DataLimits.standard
        limits.objectByteCount = 10_000
        limits.objectElementCount = 500
        self.limits = limits
        storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        let flags = PropertyType(.scalar(.bool), container: .list)
        let schema = try Schema([
            ClassSchema(
                "Note", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("left", .scalar(.string)),
                    Property("right", .scalar(.string)), Property("flags", flags),
                ])
        ])
        try storage.transaction {
            _ = try storage.merge(schema, sides: ("the server", "the test"))
            for _ in 0..<3 { _ = try storage.makeClient(userID: nil, nonce: ObjectID(high: 0, low: 0), createdAt: now) }
        }
    }

    private func upload(_ client: UInt64, _ sequence: UInt64, _ operations: [ObjectOperation]) -> Upload {
        Upload(
            session: SessionID(connection: client, session: 1), clientID: client, userID: nil,
            changeset: Changeset(
                sequence: sequence, baseVersion: storage.version,
                timestamp: HybridTimestamp(microseconds: 10 + Int64(sequence)), operations: operations))
    }

    private func create(_ id: Int64) -> ObjectOperation { ObjectOperation(ObjectRef(0, .int(id)), .create([])) }

    private func set(_ id: Int64, _ property: Int, _ value: Value) -> ObjectOperation {
        ObjectOperation(ObjectRef(0, .int(id)), .update([FieldOperation(property, .set(value))]))
    }

    private func text(_ count: Int) -> Value { .string(String(repeating: "x", count: count)) }

    private func commit(_ uploads: Upload...) throws -> CommittedGroup {
        try CommitPipeline(storage: storage, workerID: nil, limits: limits).commit(uploads, now: now)
    }

    private func values(_ id: Int64) throws -> [Value]? { try storage.row(ObjectRef(0, .int(id)))?.values }

    @Test func legalPartsOfTwoClientsThatMakeAnObjectTooLargeAreRejectedAndTheRestOfTheGroupIsKept() throws {
        _ = try commit(upload(1, 1, [create(1)]))
        let group = try commit(
            upload(1, 2, [create(2), set(1, 1, text(6_000))]), upload(2, 1, [create(3), set(1, 2, text(6_000))]),
            upload(1, 3, [create(4)]))
        #expect(try values(1)?[1] == text(6_000))
        #expect(try values(1)?[2] == .string(""))
        #expect(try values(2) != nil && values(3) == nil && values(4) != nil)
        let rejections = group.rejections
        #expect(rejections.map(\.rejection.sequence) == [1])
        #expect(rejections[0].session.connection == 2)
        let reason = try #require(rejections.first?.rejection.reasons.first)
        #expect(reason.code == .limitExceeded)
        #expect(reason.message.contains("Note") && reason.message.contains("bytes of an object; at most 10000"))
        #expect(try storage.client(2)?.sequence == 1)
        #expect(try storage.client(1)?.sequence == 3)
    }

    @Test func anObjectOfTooManyElementsIsRejected() throws {
        let flags = Value.list([Value](repeating: .bool(true), count: 501))
        let group = try commit(upload(1, 1, [create(1), set(1, 3, flags)]))
        #expect(
            group.rejections.first?.rejection.reasons.first?.message.contains("elements of an object") == true
        )
        #expect(try values(1) == nil)
    }

    @Test func anObjectThatIsTooLargeAlreadyMayShrinkAndNotGrow() throws {
        let old = Row(key: .int(1), version: 1, values: [.int(1), text(9_000), text(9_000), .list([])])
        try storage.transaction { try storage.insert(old, ofClass: 0) }
        #expect(try commit(upload(1, 1, [set(1, 1, text(8_000))])).rejections.isEmpty)
        #expect(try commit(upload(1, 2, [set(1, 1, text(8_001))])).rejections.count == 1)
        #expect(try values(1)?[1] == text(8_000))
    }

    @Test func manyRejectionsTravelInFramesThatEveryClientReads() throws {
        let bench = try Bench()
        let id = try bench.open().id
        let uploads = (1...2_500).map { sequence in
            Changeset(
                sequence: sequence, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1),
                operations: [ObjectOperation(ObjectRef(5, .int(1)), .delete)])
        }
        let actions = bench.engine.handle([.messages(id, [.upload(session: 1, changesets: uploads)])], now: now)
        let frames = try actions.compactMap { action -> [ServerMessage]? in
            if case .send(let frame, _) = action { try Frame.decode(frame, as: ServerMessage.self) } else { nil }
        }
        #expect(frames.map(\.count) == [1_000, 1_000, 501])
        let sequences = frames.joined().compactMap { message -> UInt64? in
            if case .rejected(let rejected) = message { rejected.rejection.sequence } else { nil }
        }
        #expect(sequences == Array(1...2_500))
        guard case .commit(let commit) = frames.last?.last else { throw StorageError(.damaged, "no commit") }
        #expect(commit.header.acknowledged == 2_500)
    }

    @Test func aTransactionThatCannotBeReadIsRejectedByItsSequenceAndWhatFollowsComesAgain() throws {
        let bench = try Bench()
        let first = try bench.open()
        var unreadable = Changeset(
            sequence: 2, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1), operations: [])
        unreadable.problem = "the transaction cannot be read: 77 is no kind of change"
        let messages = try bench.upload(first.id, [bench.changeset(1), unreadable])
        let reasons = messages.compactMap { if case .rejected(let rejected) = $0 { rejected.rejection } else { nil } }
        #expect(reasons.map(\.sequence) == [2])
        #expect(reasons.first?.reasons.map(\.code) == [.invalidOperation])
        guard case .error(let failure) = messages.last else { throw StorageError(.damaged, "the session goes on") }
        #expect(failure.action == .retry)
        // It is remembered until the client has dropped it.
        let again = try bench.open(first.opened.identity, version: 1).opened
        #expect(again.acknowledged == 2 && again.rejections.map(\.sequence) == [2])
    }

    @Test func aReportThatFitsNoFrameIsRefused() throws {
        var limits = DatabaseLimits()
        limits.data.objectByteCount = 50
        let bench = try Bench(limits: limits)
        let id = try bench.open().id
        let answers = try bench.handle([.messages(id, [.reportRequest(.init(session: 1, request: 4, topic: .status))])])
        guard case .reportError(let error)? = answers.last else { throw StorageError(.damaged, "no error") }
        #expect(error.code == .limitExceeded && error.message.hasSuffix("bytes; at most 50 are sent"))
    }

    @Test func aClassThatTheServersWouldGrowTooWideByIsRefusedWithTheNumbers() throws {
        let bench = try Bench()
        let id = try bench.open().id
        let more = try Schema([
            ClassSchema(
                "Plane", primaryKey: "id",
                properties: [Property("id", .scalar(.int))] + (0..<499).map { Property("p\($0)", .scalar(.int)) })
        ])
        let messages = try bench.handle([.messages(id, [.declare(session: 1, schema: more)])])
        guard case .error(let failure)? = messages.last else { throw StorageError(.damaged, "no error") }
        #expect(failure.code == .incompatibleSchema && failure.action == .stop)
        #expect(failure.message == "the class Plane has 501 properties; at most 500 are allowed")
        #expect(bench.storage.schema[0].properties.count == 2)
    }

    @Test func keysThatAreTooLongAreRejected() throws {
        let schema = try Schema([
            ClassSchema("Named", primaryKey: "name", properties: [Property("name", .scalar(.string))])
        ])
        let check = OperationCheck(schema: schema)
        let long = ObjectOperation(ObjectRef(0, .string(String(repeating: "k", count: 1_025))), .create([]))
        #expect(check.problem(with: long)?.contains("1025 bytes of a string that is a key; at most 1024") == true)
    }
}
