import SluiceModel
import SluiceStorage
import SluiceViews
import SluiceWire
import TestSupport
import Testing

@testable import SluiceServer

/// Whoever merges a group applies it with what merging has found out, and whoever follows has only the bytes.
@Suite(.ownThread) struct KnownObjectsTests {
    private func empty() throws -> SQLiteServerStorage {
        try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
    }

    /// A few operations on a few objects, some of which are not allowed, and some of which make an object too large.
    private func upload(
        _ client: UInt64, _ sequence: UInt64, base: UInt64, _ generator: inout SeededGenerator
    ) -> Upload {
        let operations = (0..<Int.random(in: 1...4, using: &generator)).map { _ in
            let length =
                Int.random(in: 0..<20, using: &generator) == 0 ? 1_000 : Int.random(in: 0...3, using: &generator)
            let name = FieldOperation(1, .set(.string(String(repeating: "x", count: length))))
            let isWrong = Int.random(in: 0..<20, using: &generator) == 0
            let views = FieldOperation(
                2, isWrong ? .set(.bool(true)) : .add(.int(.random(in: 1...9, using: &generator))))
            let action: ObjectOperation.Action =
                switch Int.random(in: 0..<5, using: &generator) {
                case 0: .delete
                case 1, 2: .create([name, views])
                case 3: .update([name])
                default: .update([views])
                }
            return ObjectOperation(ObjectRef(0, .int(.random(in: 1...4, using: &generator))), action)
        }
        return Upload(
            session: SessionID(connection: client, session: 1), clientID: client, userID: nil,
            changeset: Changeset(
                sequence: sequence, baseVersion: base,
                timestamp: HybridTimestamp(microseconds: Int64(sequence * 10 + client)), operations: operations))
    }

    private func description(_ group: CommittedGroup) -> [String] {
        group.delta.changes.map {
            "\($0.object) \(String(describing: $0.old)) \(String(describing: $0.new)) \($0.authors)"
        }
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func aGroupHasTheSameEffectForItsMakerAndForWhoHasOnlyItsBytes(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let (maker, follower) = (try empty(), try empty())
        let schema = try Schema([
            ClassSchema(
                "User", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("name", .scalar(.string)), Property("views", .scalar(.int)),
                ])
        ])
        _ = try maker.transaction { try maker.merge(schema, sides: ("the server", "the test")) }
        var limits = DataLimits.standard
        limits.objectByteCount = 500
        let pipeline = CommitPipeline(storage: maker, workerID: nil, limits: limits)
        let following = CommitPipeline(storage: follower, workerID: nil)
        for record in try maker.records(after: 0, countMax: .max) { _ = try following.follow(record) }
        var sequences: [UInt64: UInt64] = [:]
        var rejectionCount = 0
        for _ in 0..<30 {
            let uploads = (0..<Int.random(in: 1...5, using: &generator)).map { _ in
                let client = UInt64.random(in: 1...3, using: &generator)
                sequences[client, default: 0] += 1
                let base = UInt64.random(in: 0...maker.version, using: &generator)
                return upload(client, sequences[client, default: 0], base: base, &generator)
            }
            let committed = try pipeline.commit(uploads, now: Timestamp(microseconds: 1_000))
            rejectionCount += committed.rejections.count
            let record = try #require(try maker.records(after: follower.head.position, countMax: 2).first)
            #expect(description(try following.follow(record)) == description(committed), "seed \(seed)")
            #expect(follower.head == maker.head)
            for key in 1...4 as ClosedRange<Int64> {
                let object = ObjectRef(0, .int(key))
                #expect(try follower.row(object) == maker.row(object))
            }
        }
        func entries(_ storage: SQLiteServerStorage) throws -> [String] {
            var entries: [String] = []
            try storage.forEachLogEntry(after: 0) { entry in
                entries.append("\(entry)")
                return true
            }
            return entries
        }
        #expect(try entries(follower) == entries(maker))
        #expect(rejectionCount > 0, "seed \(seed)")
    }
}
