import Dispatch
import SluiceModel
import SluiceStorage
import SluiceTesting
import Synchronization
import TestSupport
import Testing

@testable import SluiceServer

/// Two busy engines on one journal: who was overtaken takes turns, so that both go on.
struct JournalTurnTests {
    /// One engine with a client that writes all the time.
    private final class Writer {
        let journal: MemoryJournal
        let node: SharedJournalTests.Node
        private let client: UInt64
        private(set) var groupCount = 0

        init(_ journal: MemoryJournal, client: UInt64) throws {
            self.journal = journal
            self.client = client
            node = try .init(
                .open(.memory, databaseID: journal.databaseID), journal, name: "node \(client)")
        }

        func commit() throws {
            let changeset = Changeset(
                sequence: UInt64(groupCount + 1), baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1),
                operations: [
                    ObjectOperation(ObjectRef(0, .int(1)), .create([FieldOperation(1, .add(.int(1)))]))
                ])
            let session = SessionID(connection: client, session: 1)
            _ = try node.commit(Upload(session: session, clientID: client, userID: nil, changeset: changeset))
            groupCount += 1
        }
    }

    private let slow: Writer
    private let busy: Writer

    init() throws {
        let journal = MemoryJournal(databaseID: ObjectID(high: 1, low: 1))
        slow = try Writer(journal, client: 1)
        busy = try Writer(journal.another(), client: 2)
        let schema = try Schema([
            ClassSchema(
                "User", primaryKey: "id",
                properties: [Property("id", .scalar(.int)), Property("views", .scalar(.int))])
        ])
        try slow.node.take { _ = try slow.node.storage.merge(schema, sides: ("the server", "the test")) }
    }

    private func checkAgreement() throws {
        for writer in [slow, busy] { try writer.node.catchUp() }
        #expect(slow.node.storage.head == busy.node.storage.head)
        let sum = Int64(slow.groupCount + busy.groupCount)
        #expect(try slow.node.views == [.int(1), .int(sum)])
    }

    @Test func `who is always overtaken appends its next groups in turns`() throws {
        // The busy engine appends a group whenever the slow one is about to, unless it has to wait.
        // Sound because the test has one thread.
        nonisolated(unsafe) let busy = busy
        slow.journal.faults = Array(repeating: .isOvertaken { try busy.commit() }, count: 1_000)
        for _ in 0..<90 { try slow.commit() }
        #expect(slow.groupCount == 90)
        // Of 8 groups the first is overtaken once, so that 9 appends are tried. The busy one has a group for each of them.
        #expect(slow.journal.appendCount == 1 + 90 + 12)
        #expect(busy.groupCount == 90 + 12)
        slow.journal.faults = []
        try checkAgreement()
    }

    @Test func `a turn is given back when nothing is appended`() throws {
        nonisolated(unsafe) let busy = busy
        slow.journal.faults = [.isOvertaken { try busy.commit() }]
        try slow.commit()
        #expect(throws: CancellationError.self) {
            try slow.node.take { throw CancellationError() }
        }
        try busy.commit()
        try checkAgreement()
    }

    @Test func `a journal without news of which an engine lacks nothing has another history`() throws {
        let other = MemoryJournal(databaseID: slow.journal.databaseID)
        slow.node.storage.journal = other
        let error = #expect(throws: StorageError.self) { try slow.commit() }
        #expect(error?.code == .journal)
    }

    @Test(.ownThread) func `engines on two threads append all of their groups`() throws {
        let count = 300
        // Sound because each has a thread.
        nonisolated(unsafe) let (first, second) = (slow, busy)
        let outcomes = Mutex<[any Error]>([])
        DispatchQueue.concurrentPerform(iterations: 2) { number in
            do {
                for _ in 0..<count { try number == 0 ? first.commit() : second.commit() }
            } catch { outcomes.withLock { $0.append(error) } }
        }
        #expect(outcomes.withLock { $0.isEmpty })
        #expect(slow.groupCount == count && busy.groupCount == count)
        try checkAgreement()
    }
}
