import SluiceModel
import SluiceStorage
import SluiceTesting
import SluiceViews
import SluiceWire
import Testing

@testable import SluiceServer

/// Several engines on one journal: who appends first wins, the others apply it and merge again, and a group whose fate
/// is unknown is committed once.
struct SharedJournalTests {
    /// One engine on the journal.
    final class Node {
        let storage: SQLiteServerStorage
        let pipeline: CommitPipeline
        private(set) var followed: [CommittedGroup] = []

        init(_ storage: SQLiteServerStorage, _ journal: MemoryJournal, name: String) {
            self.storage = storage
            storage.journal = journal
            pipeline = CommitPipeline(storage: storage, workerID: name)
        }

        func commit(_ uploads: Upload...) throws -> CommittedGroup {
            try pipeline.commit(uploads, now: Timestamp(microseconds: 1_000)) { followed.append($0) }
        }

        /// Does steps that are no group, again where others were first.
        func take(_ steps: () throws -> Void) throws {
            try pipeline.catchingUp({ followed.append($0) }) { try storage.transaction(steps) }
        }

        func catchUp() throws { try pipeline.catchUp { followed.append($0) } }

        var views: [Value]? { get throws { try storage.row(ObjectRef(0, .int(1)))?.values } }
    }

    private let journal: MemoryJournal
    /// How many groups were appended before the test, which is the schema.
    private let appendsBefore = 1
    private let first: Node
    private let second: Node

    init() throws {
        let storage = try Self.empty()
        journal = MemoryJournal(databaseID: storage.databaseID)
        first = Node(storage, journal, name: "first")
        let schema = try Schema([
            ClassSchema(
                "User", primaryKey: "id",
                properties: [Property("id", .scalar(.int)), Property("views", .scalar(.int))])
        ])
        _ = try storage.transaction { try storage.merge(schema, sides: ("the server", "the test")) }
        second = Node(try Self.empty(), journal, name: "second")
        try second.catchUp()
    }

    private static func empty() throws -> SQLiteServerStorage {
        try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
    }

    /// Adds to the views of a user, which the first upload creates. Clients of a lower number write later.
    private func upload(_ client: UInt64, _ sequence: UInt64 = 1, adding amount: Int64 = 1) -> Upload {
        Upload(
            session: SessionID(connection: client, session: 1), clientID: client, userID: nil,
            changeset: Changeset(
                sequence: sequence, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 100 - Int64(client)),
                operations: [
                    ObjectOperation(ObjectRef(0, .int(1)), .create([FieldOperation(1, .add(.int(amount)))]))
                ]))
    }

    /// The second engine commits an upload before the first engine's append.
    private func isOvertaken(by upload: Upload) -> MemoryJournal.Fault {
        // Sound because the test has one thread.
        nonisolated(unsafe) let second = second
        return .isOvertaken { _ = try second.commit(upload) }
    }

    /// Checks that both engines are at the end of the journal, in the same state.
    private func checkAgreement(views: Int64) throws {
        try first.catchUp()
        try second.catchUp()
        #expect(first.storage.head == second.storage.head)
        #expect(first.storage.head == journal.records.last?.head)
        for node in [first, second] { #expect(try node.views == [.int(1), .int(views)]) }
        for client in UInt64(1)...3 {
            #expect(try first.storage.client(client)?.sequence == second.storage.client(client)?.sequence)
        }
    }

    @Test func whoIsOvertakenAppliesWhatItMissedAndMergesAgain() throws {
        journal.faults = [isOvertaken(by: upload(2, adding: 10))]
        let group = try first.commit(upload(1))
        #expect(first.followed.map { $0.authors.map(\.clientID) } == [[2]])
        #expect(first.followed[0].authors[0].workerID == "second" && first.followed[0].acknowledged.isEmpty)
        #expect(group.authors.map(\.version) == [2] && group.acknowledged == [upload(1).session: 1])
        // It was a creation the first time, and an addition to what the other had created the second time.
        #expect(group.delta.changes.first?.old?.values[1] == .int(10))
        try checkAgreement(views: 11)
    }

    @Test func aGroupThatTheJournalTookWithoutSayingSoIsCommittedOnce() throws {
        journal.faults = [.losesAnswer]
        #expect(try first.commit(upload(1)).authors.count == 1)
        #expect(journal.appendCount == appendsBefore + 2 && journal.records.count == 2)
        try checkAgreement(views: 1)
    }

    @Test func aGroupThatTheJournalLostIsAppendedAgain() throws {
        journal.faults = [.losesGroup, .losesGroup]
        _ = try first.commit(upload(1))
        #expect(journal.appendCount == appendsBefore + 3 && journal.records.count == 2)
        try checkAgreement(views: 1)
    }

    @Test func afterSilenceAnotherEnginesGroupMayBeThereInstead() throws {
        journal.faults = [.losesGroup, isOvertaken(by: upload(2))]
        _ = try first.commit(upload(1))
        try checkAgreement(views: 2)
    }

    @Test func aGroupThatArrivesLateIsHistoryForAllOrIsRefused() throws {
        // Its author has given it up, and it arrives before the next of another engine.
        journal.faults = [.delaysGroup(by: 0), .silent]
        #expect(throws: StorageError.self) { try first.commit(upload(1)) }
        journal.faults = []
        _ = try second.commit(upload(2, adding: 10))
        #expect(second.followed.last?.authors.map(\.clientID) == [1])
        #expect(try first.commit(upload(1)).authors.isEmpty)
        try checkAgreement(views: 11)
        // This one arrives when another has its place, and the client sends it again.
        journal.faults = [.delaysGroup(by: 1), .silent]
        #expect(throws: StorageError.self) { try first.commit(upload(3, adding: 100)) }
        journal.faults = []
        for sequence in [2, 3] as [UInt64] { _ = try second.commit(upload(2, sequence, adding: 10)) }
        #expect(try first.commit(upload(3, adding: 100)).authors.count == 1)
        try checkAgreement(views: 131)
    }

    @Test func aGroupThatArrivesTwiceCountsOnce() throws {
        journal.faults = [.repeatsGroup(after: 1)]
        _ = try first.commit(upload(1))
        for sequence in [1, 2] as [UInt64] { _ = try second.commit(upload(2, sequence, adding: 10)) }
        try checkAgreement(views: 21)
        #expect(journal.records.count == 4)
    }

    @Test func aClientThatMovesToAnotherEngineIsAcknowledgedAndNotAppliedTwice() throws {
        // The journal has the group, and the engine that appended it never heard so.
        journal.faults = [.losesAnswer, .fails]
        #expect(throws: StorageError.self) { try first.commit(upload(1)) }
        #expect(first.storage.version == 0, "what is not known to be in the journal is not stored")
        let group = try second.commit(upload(1), upload(1, 2))
        #expect(group.acknowledged == [upload(1).session: 2])
        try checkAgreement(views: 2)
        // Nor does the first engine, when the client comes back.
        #expect(try first.commit(upload(1), upload(1, 2)).authors.isEmpty)
        #expect(journal.records.count == 3)
    }

    @Test func aJournalThatNeverAnswersStoresNothingAndKeepsTheClientWaiting() throws {
        journal.faults = Array(repeating: .losesGroup, count: 100)
        let error = #expect(throws: StorageError.self) { try first.commit(upload(1)) }
        #expect(error?.code == .outcomeUnknown)
        #expect(first.storage.head == second.storage.head && first.storage.version == 0)
    }

    @Test func theTimeOfAcceptanceNeverGoesBack() throws {
        _ = try second.pipeline.commit([upload(2)], now: Timestamp(microseconds: 9_000))
        let group = try first.commit(upload(1))
        #expect(group.acceptedAt == Timestamp(microseconds: 9_000), "the clock of this engine said 1,000")
    }

    @Test func rejectionsAndTheirSequencesReachEveryEngine() throws {
        var bad = upload(1)
        bad.problem = .init(code: .invalidOperation, message: "no")
        #expect(try first.commit(bad, upload(2)).rejections.map(\.rejection.sequence) == [1])
        try checkAgreement(views: 1)
        for node in [first, second] {
            let notices = try node.storage.rejections(of: 1)
            #expect(try notices.map { try ServerMessage.Rejection(wireBytes: $0).reasons[0].message } == ["no"])
        }
    }

    // MARK: Steps

    @Test func stepsThatBelongAfterWhatOthersAppendedAreNotStoredAndAreTakenAgain() throws {
        let more = try Schema([ClassSchema("More", properties: [Property("n", .scalar(.int))])])
        let steps: [(SQLiteServerStorage) throws -> Void] = [
            { try $0.beginEpoch(77) }, { _ = try $0.merge(more, sides: ("a", "b")) },
            {
                _ = try $0.makeClient(
                    userID: nil, nonce: ObjectID(high: 0, low: 1), sequence: 4, createdAt: Timestamp(microseconds: 1))
            },
        ]
        for (number, step) in steps.enumerated() {
            journal.faults = [isOvertaken(by: upload(2, UInt64(number + 1)))]
            let head = first.storage.head
            #expect(throws: JournalConflict.self) { try first.storage.transaction { try step(first.storage) } }
            #expect(first.storage.head == head)
            try first.take { try step(first.storage) }
            try second.catchUp()
            #expect(second.storage.head == first.storage.head && journal.records.last?.head == first.storage.head)
        }
        #expect(second.storage.epoch == 77 && second.storage.schema == first.storage.schema)
        try checkAgreement(views: 3)
    }

    @Test func stepsThatTheJournalTookWithoutSayingSoAreTakenOnce() throws {
        journal.faults = [.losesAnswer]
        try first.take { try first.storage.beginEpoch(77) }
        #expect(journal.appendCount == appendsBefore + 2 && journal.records.count == 2)
        journal.faults = [.fails]
        #expect(throws: StorageError.self) { try first.take { try first.storage.beginEpoch(78) } }
        #expect(first.storage.epoch == 77, "what is not in the journal is not stored")
        try second.catchUp()
        #expect(second.storage.epoch == 77)
    }

    @Test func aTrimIsThatOfAllEngines() throws {
        for sequence in 1...4 as ClosedRange<UInt64> { _ = try first.commit(upload(1, sequence)) }
        #expect(try first.storage.trimLog(keepingVersions: 1, keepingBytes: .max, entriesMax: .max) == 3)
        try checkAgreement(views: 4)
        #expect(second.storage.logStart == 3)
    }

    @Test func anEngineThatIsOvertakenAsItBeginsAnEpochAppliesWhatItMissedAndBeginsItAfterThat() throws {
        journal.faults = [isOvertaken(by: upload(2))]
        let engine = DatabaseEngine(name: "users", storage: first.storage, journal: journal) { 77 }
        try engine.beginEpoch()
        #expect(first.storage.epoch == 77)
        try checkAgreement(views: 1)
        #expect(second.storage.epoch == 77)
    }

    // MARK: Publishing

    @Test func anEnginePublishesWhatAnotherHasCommitted() throws {
        let author = try Bench()
        let reader = try Bench()
        let uploader = try author.open().id
        func follow() throws -> [ServerMessage] {
            let records = try author.storage.records(after: reader.storage.head.position, countMax: .max)
            return try reader.handle([.follow(records)])
        }
        _ = try follow()
        let id = try reader.open(options: .readOnly).id
        _ = try reader.handle([
            .messages(id, [.subscribe(.init(session: 1, subscription: 1, query: "Plane WHERE seats > 0"))])
        ])
        _ = try reader.work()
        _ = try author.upload(uploader, [author.planes(3)])
        let commits = try follow().compactMap { message -> ServerMessage.Commit? in
            if case .commit(let commit) = message { commit } else { nil }
        }
        #expect(commits.map(\.header.version) == [1])
        #expect(commits.first?.header.acknowledged == nil)
        #expect(try reader.seats(3) == .int(2))
        // A record that does not continue this history ends the session and changes nothing.
        let head = reader.storage.head
        var again = try author.storage.records(after: head.position - 1, countMax: 1)
        again[0].head.chain[0] ^= 1
        let messages = try reader.handle([.follow(again)])
        guard case .error(let failure)? = messages.last else { throw StorageError(.damaged, "the session goes on") }
        #expect(failure.action == .retry && reader.storage.head == head)
    }
}
