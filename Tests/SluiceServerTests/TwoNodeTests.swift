import SluiceModel
import SluiceQuery
import SluiceServer
import SluiceStorage
import SluiceTesting
import SluiceWire
import Testing

/// Two engines with sessions on one journal, and clients that move between them while both write.
struct TwoNodeTests {
    private let journal: MemoryJournal
    private let first: Bench
    private let second: Bench

    init() throws {
        journal = MemoryJournal(databaseID: ObjectID(high: 7, low: 7))
        (first, second) = try Bench.pair(on: journal)
    }

    /// Lets an engine follow what the other has appended, and returns what it sends.
    private func follow(_ node: Bench) throws -> [ServerMessage] {
        try node.handle([.follow(journal.records(after: node.storage.head.position, countMax: .max))])
    }

    private func failures(in messages: [ServerMessage]) -> [ServerMessage.Failure] {
        messages.compactMap { if case .error(let failure) = $0 { failure } else { nil } }
    }

    /// Checks that both engines are at the end of the journal, in the same state.
    private func checkAgreement(seats: Int64) throws {
        for node in [first, second] {
            _ = try follow(node)
            #expect(node.storage.head == journal.head)
            #expect(try node.seats(1) == .int(seats))
        }
        for client in UInt64(1)...4 { #expect(try first.storage.client(client) == second.storage.client(client)) }
    }

    @Test func `two clients on two nodes get two ids, and both of their writes count`() throws {
        let ann = try first.open()
        let ben = try second.open()
        #expect(ann.opened.identity.clientID != ben.opened.identity.clientID)
        #expect(acknowledgements(in: try first.upload(ann.id, [first.changeset(1)])) == [1])
        #expect(acknowledgements(in: try second.upload(ben.id, [second.changeset(1)])) == [1])
        try checkAgreement(seats: 2)
    }

    @Test func `what a node accepts whose clock is behind can be followed, also before the first version`() throws {
        let ann = try first.open()
        let ben = try second.open()
        first.advance(microseconds: 200_000)
        _ = try first.upload(ann.id, [first.changeset(1, isBad: true)])
        _ = try second.upload(ben.id, [second.changeset(1, isBad: true)])
        // The next group begins an epoch.
        journal.fork(losing: 0)
        _ = try second.upload(ben.id, [second.changeset(2, isBad: true)])
        #expect(first.storage.version == 0 && second.storage.version == 0)
        for node in [first, second] {
            _ = try follow(node)
            #expect(node.storage.head == journal.head)
        }
        #expect(first.storage.epochs == second.storage.epochs)
    }

    @Test func `a node that is overtaken by a group which was accepted later accepts its own no earlier`() throws {
        let ann = try first.open()
        let ben = try second.open()
        // The turn of the second one begins later, and its group is first.
        second.advance(microseconds: 1)
        // Sound because the test has one thread.
        nonisolated(unsafe) let second = second
        journal.faults = [.isOvertaken { _ = try second.upload(ben.id, [second.changeset(1, isBad: true)]) }]
        _ = try first.upload(ann.id, [first.changeset(1, isBad: true)])
        for node in [first, second] {
            _ = try follow(node)
            #expect(node.storage.head == journal.head && !node.engine.mustReopen)
        }
    }

    @Test func `a node that lags begins an epoch without closing its database`() throws {
        let ann = try first.open()
        let ben = try second.open()
        _ = try second.upload(ben.id, [second.changeset(1)])
        journal.fork(losing: 0)
        _ = try first.upload(ann.id, [first.changeset(1)])
        #expect(!first.engine.mustReopen)
        for node in [first, second] {
            _ = try follow(node)
            #expect(node.storage.head == journal.head && !node.engine.mustReopen)
        }
    }

    @Test func `a client that moves is the same client, and what it uploads again counts once`() throws {
        let here = try first.open()
        _ = try first.upload(here.id, [first.changeset(1)])
        // The acknowledgement has not reached the client; the other node has followed nothing.
        let there = try second.open(here.opened.identity)
        #expect(there.opened.outcome == .resumed && there.opened.acknowledged == 1)
        #expect(there.opened.identity.clientID == here.opened.identity.clientID)
        _ = try second.upload(there.id, [second.changeset(1), second.changeset(2)])
        try checkAgreement(seats: 2)
        // And back, with the nonce of the other node.
        let back = try first.open(there.opened.identity, version: second.storage.version)
        #expect(back.opened.outcome == .resumed && back.opened.acknowledged == 2)
        try checkAgreement(seats: 2)
    }

    @Test func `the session that a client has left on another node ends once that node follows`() throws {
        let here = try first.open()
        _ = try second.open(here.opened.identity)
        let failures = failures(in: try follow(first))
        #expect(failures.map(\.action) == [.retry] && failures.first?.message.contains("another session") == true)
        #expect(first.engine.connectedClients.isEmpty && second.engine.connectedClients == [1])
    }

    @Test func `a copy of a client's file gets another id on another node`() throws {
        let here = try first.open()
        let again = try second.open(here.opened.identity)
        // The first message proves that the client has stored its new nonce.
        _ = try second.upload(again.id, [second.changeset(1)])
        _ = try second.open(again.opened.identity)
        let copy = try first.open(here.opened.identity)
        #expect(copy.opened.outcome == .copied)
        #expect(copy.opened.identity.clientID != here.opened.identity.clientID)
    }

    @Test(arguments: [false, true])
    func `of two copies that open within one round trip, one is another client`(areOnOneNode: Bool) throws {
        let (here, there) = (first, areOnOneNode ? first : second)
        let original = try here.open()
        _ = try here.upload(original.id, [here.changeset(1)])
        _ = try here.handle([.closed(original.id)])
        // Both copies show the same nonce before either has said anything more.
        let one = try here.open(original.opened.identity, version: 1, acknowledged: 1)
        let other = try there.open(original.opened.identity, version: 1, acknowledged: 1)
        #expect(one.opened.outcome == .resumed && other.opened.outcome == .resumed)
        #expect(one.opened.identity.nonce != other.opened.identity.nonce)
        // Both write under the same number.
        _ = try here.upload(one.id, [here.changeset(2)])
        #expect(acknowledgements(in: try there.upload(other.id, [there.changeset(2)])) == [2])
        let again = try here.open(one.opened.identity, version: 1, acknowledged: 1)
        #expect(again.opened.outcome == .copied)
        #expect(acknowledgements(in: try here.upload(again.id, [here.changeset(2)])) == [2])
        #expect(try there.open(other.opened.identity, version: 2, acknowledged: 2).opened.outcome == .resumed)
        try checkAgreement(seats: 3)
    }

    @Test func `a followed epoch ends sessions, and no client is reset`() throws {
        let here = try first.open()
        let reader = try first.open(options: .readOnly)
        _ = try first.upload(here.id, [first.changeset(1)])
        _ = try follow(second)
        try second.engine.beginEpoch()
        let other = try second.open()
        _ = try second.upload(other.id, [second.changeset(1)])
        let messages = try follow(first)
        let failures = failures(in: messages)
        #expect(
            failures.map(\.code) == [.historyChanged, .historyChanged] && failures.allSatisfy { $0.action == .retry })
        // Each comes back with what it had of the epoch that has ended.
        for (session, options) in [(here, ClientMessage.Open.Options()), (reader, .readOnly)] {
            let back = try first.open(session.opened.identity, version: 1, acknowledged: 0, options: options)
            #expect(back.opened.outcome == .resumed)
            #expect(back.opened.identity.epoch != session.opened.identity.epoch)
        }
        try checkAgreement(seats: 2)
    }

    @Test func `a node that finds another history in work that no client asks for ends its sessions`() throws {
        let here = try first.open()
        // The first message says that the client has its nonce, which is stored by itself after a second.
        _ = try first.handle([.messages(here.id, [.credit(session: 1, pages: 1)])])
        #expect(first.engine.connectedClients == [1])
        // The journal goes on without the visit.
        journal.fork(losing: 1)
        first.advance(microseconds: 2_000_000)
        #expect(failures(in: try first.checkDigests()).map(\.action) == [.retry])
        #expect(first.engine.connectedClients.isEmpty && first.engine.mustReopen)
    }

    @Test func `a node that is opened begins no epoch, and resets nobody`() throws {
        let here = try first.open()
        _ = try first.upload(here.id, [first.changeset(1)])
        let third = try Bench(journal: journal, seed: 3_000)
        try third.engine.catchUp()
        let other = try third.open()
        _ = try third.upload(other.id, [third.changeset(1)])
        #expect(failures(in: try follow(first)).isEmpty)
        #expect(try first.open(here.opened.identity, version: 2).opened.outcome == .resumed)
    }

    @Test func `a client ahead of its node is served once the node has caught up`() throws {
        let reader = try first.open(options: .readOnly)
        let writer = try first.open()
        _ = try first.upload(writer.id, [first.changeset(1), first.changeset(2)])
        #expect(second.storage.version == 0)
        let moved = try second.open(reader.opened.identity, version: 2, options: .readOnly)
        #expect(moved.opened.outcome == .resumed && second.storage.version == 2)
    }

    @Test func `records that a node has are left out, and its sessions go on`() throws {
        let here = try first.open()
        _ = try first.upload(here.id, [first.changeset(1)])
        #expect(try first.handle([.follow(journal.records)]).isEmpty)
        #expect(first.engine.connectedClients == [1])
        // One that is not of this history ends them.
        var strange = try #require(journal.records.last)
        strange.head.chain[0] ^= 1
        #expect(failures(in: try first.handle([.follow([strange])])).count == 1)
    }

    @Test func `openings of one turn are one group, and a lost answer registers nobody twice`() throws {
        let schema = first.planeSchema
        _ = try first.open()
        let before = journal.records.count
        journal.faults = [.losesAnswer, .losesGroup]
        let events = (10..<20).map { number in
            DatabaseEvent.open(
                SessionID(connection: UInt64(number), session: 1),
                ClientMessage.Open(
                    session: 1, path: "planes", identity: nil, version: 0, acknowledged: 0, options: [],
                    schema: schema), User(id: nil, mayExtendSchema: true))
        }
        let ids = try first.handle(events).compactMap { message -> UInt64? in
            if case .opened(let opened) = message { opened.identity.clientID } else { nil }
        }
        #expect(ids == Array(2...11))
        #expect(journal.records.count == before + 1)
    }

    @Test func `a schema that another node has grown reaches those that were about to open`() throws {
        let ann = try second.open()
        let ben = try first.open()
        #expect(ben.opened.identity.clientID == ann.opened.identity.clientID + 1)
        #expect(first.storage.schema == second.storage.schema)
    }

    /// The commit of the first upload follows a group that ends the session, and leaves the upload out.
    @Test func `uploads behind one that was left out are left out, too, and come again`() throws {
        var limits = DatabaseLimits()
        limits.groupOperationCountMax = 1
        let third = try Bench(limits: limits, journal: journal, seed: 3_000)
        let ann = try third.open()
        let larger = try Schema(
            first.planeSchema.classes + [
                ClassSchema("Pilot", primaryKey: "id", properties: [Property("id", .scalar(.int))])
            ])
        let open = ClientMessage.Open(
            session: 1, path: "planes", identity: nil, version: 0, acknowledged: 0, options: [], schema: larger)
        _ = try second.handle([
            .open(SessionID(connection: 90, session: 1), open, User(id: nil, mayExtendSchema: true))
        ])
        let answers = try third.upload(ann.id, [third.changeset(1), third.changeset(2)])
        #expect(failures(in: answers).map(\.code) == [.schemaChanged])
        #expect(acknowledgements(in: answers).isEmpty)
        let again = try third.open(ann.opened.identity)
        #expect(again.opened.outcome == .resumed && again.opened.acknowledged == 0)
        #expect(try acknowledgements(in: third.upload(again.id, [third.changeset(1), third.changeset(2)])).last == 2)
        #expect(try third.seats(1) == .int(2))
    }

    // MARK: The servers' own transactions

    /// Sells a seat of plane 1, if there is one.
    ///
    /// - Returns: how often the transaction ran, and whether it has sold one.
    private func sell(on node: Bench) throws -> (runs: Int, isSold: Bool) {
        let plane = ObjectRef(0, .int(1))
        var runs = 0
        let isSold = try node.engine.write(by: 1, now: node.now) { objects, _ in
            runs += 1
            guard case .int(let seats)? = try objects.row(plane)?.values[1], seats > 0 else {
                return OwnTransaction(false, [])
            }
            return OwnTransaction(true, [ObjectOperation(plane, .update([FieldOperation(1, .set(.int(seats - 1)))]))])
        }
        return (runs, isSold)
    }

    @Test func `two nodes that sell one if there is one sell one`() throws {
        let client = try first.open()
        _ = try first.upload(client.id, [first.changeset(1)])
        _ = try follow(second)
        let sold = try sell(on: first)
        #expect(sold.runs == 1 && sold.isSold)
        // The second node has not followed yet.
        #expect(try second.seats(1) == .int(1))
        let other = try sell(on: second)
        #expect(other.runs == 2 && !other.isSold)
        try checkAgreement(seats: 0)
    }

    @Test func `what a transaction throws as it runs again is thrown, and nothing is stored`() throws {
        let client = try first.open()
        _ = try follow(second)
        _ = try first.upload(client.id, [first.changeset(1)])
        let head = journal.head
        var runs = 0
        #expect(throws: CancellationError.self) {
            try second.engine.write(by: 1, now: second.now) { _, _ in
                runs += 1
                if runs > 1 { throw CancellationError() }
                return OwnTransaction((), [ObjectOperation(ObjectRef(0, .int(5)), .create([]))])
            }
        }
        #expect(runs == 2 && journal.head == head)
        try checkAgreement(seats: 1)
    }

    @Test func `a transaction of which nobody knows says so`() throws {
        _ = try first.open()
        for (fault, code) in [
            (MemoryJournal.Fault.losesAnswer, ServerError.Code.outcomeUnknown), (.losesGroup, .outcomeUnknown),
            (.silent, .outcomeUnknown), (.fails, .database),
        ] {
            let node = try Bench(journal: journal.another())
            try node.engine.catchUp()
            node.journal?.faults = [fault, .silent]
            let error = #expect(throws: ServerError.self) {
                try node.engine.write(by: 1, now: node.now) { _, _ in
                    OwnTransaction((), [ObjectOperation(ObjectRef(0, .int(5)), .create([]))])
                }
            }
            #expect(error?.code == code, "\(fault)")
        }
    }

    @Test func `uploads of a session that others' groups have ended are left to its client`() throws {
        let here = try first.open()
        let there = try second.open(here.opened.identity)
        _ = try second.upload(there.id, [second.changeset(1)])
        // The first node has not noticed that the client has gone when its last uploads arrive.
        let messages = try first.upload(here.id, [first.changeset(1), first.changeset(2)])
        #expect(failures(in: messages).map(\.action) == [.retry] && acknowledgements(in: messages).isEmpty)
        try checkAgreement(seats: 1)
    }
}
