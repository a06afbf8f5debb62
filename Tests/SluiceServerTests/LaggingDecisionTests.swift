import SluiceModel
import SluiceQuery
import SluiceRules
import SluiceStorage
import SluiceTesting
import SluiceWire
import Testing

@testable import SluiceServer

/// What a node has decided before it has caught up with the journal is decided again behind what others have appended.
struct LaggingDecisionTests {
    // MARK: Uploads

    @Test func `uploads of a session that has ended are not judged by what its user could do once`() throws {
        let pair = try LaggingPair()
        let bob = try pair.second.open(user: "bob")
        try pair.takeRights()
        // The gap ends the session, with the first upload gathered.
        let answers = try pair.second.upload(bob.id, [pair.second.changeset(1), pair.second.changeset(3)])
        #expect(LaggingPair.failures(in: answers) == [.protocolViolation])
        try pair.catchUp()
        #expect(try pair.first.seats(1) == nil)
        // The client has got no answer, sends it again, and is told.
        let again = try pair.second.open(bob.opened.identity, user: "bob")
        #expect(again.opened.outcome == .resumed && again.opened.acknowledged == 0)
        #expect(LaggingPair.rejections(in: try pair.second.upload(again.id, [pair.second.changeset(1)])) == [1])
    }

    @Test func `sessions of one user that open together are bound anew behind another schema`() throws {
        let pair = try LaggingPair()
        try pair.first.engine.declare(pair.schema(with: "Airport"))
        try pair.takeRights()
        let ids = [90, 91].map { SessionID(connection: $0, session: 1) }
        let events = ids.map { id in
            DatabaseEvent.open(
                id,
                ClientMessage.Open(
                    session: 1, path: "planes", identity: nil, version: 0, acknowledged: 0, options: [],
                    schema: pair.second.planeSchema), User(id: "bob", mayExtendSchema: true))
        }
        #expect(LaggingPair.failures(in: try pair.second.handle(events)).isEmpty)
        for id in ids {
            #expect(LaggingPair.rejections(in: try pair.second.upload(id, [pair.second.changeset(1)])) == [1])
        }
        #expect(try pair.second.seats(1) == nil)
    }

    /// Before the followed rules no object decided what users may do, so both uploads were gathered for one group.
    @Test func `an upload that takes rights by followed rules counts before the next one`() throws {
        let pair = try LaggingPair(
            rules: #"{"classes": {"Plane": {"read": true, "create": true, "update": true}, "#
                + #""Member": {"read": true, "delete": true}}}"#)
        let ann = try pair.second.open(user: "ann")
        let bob = try pair.second.open(user: "bob")
        try pair.first.engine.deploy(
            try RulesFile(
                #"{"roles": {"member": "Member WHERE id == $user.id"}, "#
                    + #""classes": {"Plane": {"read": true, "create": "$role.member", "update": "$role.member"}, "#
                    + #""Member": {"read": true, "delete": true}}}"#))
        let deletion = Changeset(
            sequence: 1, baseVersion: pair.second.storage.version, timestamp: HybridTimestamp(microseconds: 1),
            operations: [ObjectOperation(LaggingPair.member, .delete)])
        let answers = try pair.second.handle([
            .messages(ann.id, [.upload(session: 1, changesets: [deletion])]),
            .messages(bob.id, [.upload(session: 1, changesets: [pair.second.changeset(1)])]),
        ])
        #expect(LaggingPair.rejections(in: answers) == [1])
        try pair.catchUp()
        #expect(try pair.first.storage.row(LaggingPair.member) == nil)
        #expect(try pair.first.seats(1) == nil)
    }

    // MARK: Transactions as JSON

    private func insert(_ pair: LaggingPair, _ id: SessionID, seats: Int) throws -> [ServerMessage] {
        let line = #"[{"op":"insert","class":"Plane","key":1,"set":{"seats":\#(seats)}}]"#
        return try pair.send(
            .write(.init(session: 1, sequence: 1, operations: line, operationCount: 1)), id)
    }

    @Test func `of two nodes that insert an object, one is told that it is there`() throws {
        let pair = try LaggingPair()
        let bob = try pair.second.open(user: "bob")
        try pair.write(
            pair.first, [ObjectOperation(ObjectRef(0, .int(1)), .create([FieldOperation(1, .set(.int(5)))]))])
        #expect(LaggingPair.rejections(in: try insert(pair, bob.id, seats: 9)) == [1])
        try pair.catchUp()
        #expect(try pair.first.seats(1) == .int(5))
    }

    @Test func `an object is inserted that another node has deleted`() throws {
        let pair = try LaggingPair()
        let plane = ObjectRef(0, .int(1))
        try pair.write(pair.first, [ObjectOperation(plane, .create([FieldOperation(1, .set(.int(5)))]))])
        try pair.second.engine.catchUp()
        let bob = try pair.second.open(user: "bob")
        try pair.write(pair.first, [ObjectOperation(plane, .delete)])
        #expect(LaggingPair.rejections(in: try insert(pair, bob.id, seats: 9)).isEmpty)
        try pair.catchUp()
        #expect(try pair.first.seats(1) == .int(9))
    }

    // MARK: Transactions that write nothing

    /// Sets the seats of plane 1 at the second engine if it is there.
    ///
    /// - Parameter absence: what is thrown if it is not; nil to write nothing then.
    /// - Returns: how often the transaction ran.
    private func update(_ pair: LaggingPair, absence: (any Error)? = nil) throws -> Int {
        let plane = ObjectRef(0, .int(1))
        var runs = 0
        try pair.second.engine.write(by: 1, now: pair.second.now) { objects, _ in
            runs += 1
            guard try objects.row(plane) != nil else {
                if let absence { throw absence }
                return OwnTransaction((), [])
            }
            return OwnTransaction((), [ObjectOperation(plane, .update([FieldOperation(1, .set(.int(9)))]))])
        }
        return runs
    }

    @Test(arguments: [false, true])
    func `a transaction that writes nothing, or throws, by a state that has passed runs again`(throwing: Bool) throws {
        let pair = try LaggingPair(rules: nil)
        try pair.write(pair.first, [ObjectOperation(ObjectRef(0, .int(1)), .create([]))])
        #expect(try update(pair, absence: throwing ? CancellationError() : nil) == 2)
        try pair.catchUp()
        #expect(try pair.first.seats(1) == .int(9))
    }

    @Test func `a transaction that writes nothing runs once if its node lacks nothing`() throws {
        let pair = try LaggingPair(rules: nil)
        let head = pair.journal.head
        #expect(try update(pair) == 1)
        #expect(throws: CancellationError.self) { try update(pair, absence: CancellationError()) }
        #expect(pair.journal.head == head)
    }

    @Test func `a change of a record counts for which another node has made room`() throws {
        let pair = try LaggingPair(rules: nil)
        let key = JobRecord.Key(space: ConsumerState.deadPrefix + "mailer", name: [1])
        let write = JobWrite(key, .set(.never, value: [1]), if: .absent)
        #expect(try pair.first.engine.applyJobs([write], as: nil, now: pair.first.now) == [true])
        try pair.second.engine.catchUp()
        #expect(try pair.second.engine.applyJobs([write], as: nil, now: pair.second.now) == [false])
        #expect(try pair.first.engine.applyJobs([JobWrite(key, .remove)], as: nil, now: pair.first.now) == [true])
        #expect(try pair.second.engine.applyJobs([write], as: nil, now: pair.second.now) == [true])
        try pair.catchUp()
        #expect(try pair.first.storage.job(key) != nil)
    }

    // MARK: Order

    @Test func `what a session resumes is sent before what its node then follows`() throws {
        let pair = try LaggingPair(rules: nil)
        let plane = ObjectRef(0, .int(1))
        try pair.write(pair.first, [ObjectOperation(plane, .create([]))])
        let reader = try pair.second.open()
        let version = pair.second.storage.version
        try pair.write(pair.first, [ObjectOperation(plane, .update([FieldOperation(1, .set(.int(9)))]))])
        let resume = ClientMessage.Resume(
            version: version, queryHash: try Query.parse("Plane", schema: pair.second.storage.schema).hash,
            memberCount: 1)
        let answers = try pair.second.handle([
            .messages(
                reader.id,
                [
                    .subscribe(.init(session: 1, subscription: 1, query: "Plane", resume: resume)),
                    .declare(session: 1, schema: try pair.schema(with: "Pilot")),
                ])
        ])
        let versions = answers.compactMap { message -> UInt64? in
            switch message {
            case .complete(let complete): complete.version
            case .commit(let commit): commit.header.version
            default: nil
            }
        }
        #expect(versions.first == version && versions.contains(version + 1))
        #expect(versions == versions.sorted())
    }

    // MARK: Policies and quotas

    @Test func `a validator judges writes of a class that another node has just added`() throws {
        let policies = WritePolicies()
        policies.add("Pilot", in: nil, timeLimit: .seconds(10)) { _ in .refuse("no pilots") }
        let pair = try LaggingPair(rules: nil, policies: policies)
        try pair.first.engine.declare(pair.schema(with: "Pilot"))
        let error = #expect(throws: ServerError.self) {
            try pair.second.engine.write(by: 1, as: "bob", now: pair.second.now) { objects, _ in
                // The transaction runs again where the node has followed the class.
                guard let pilot = objects.schema.index(of: "Pilot") else {
                    return OwnTransaction((), [ObjectOperation(ObjectRef(0, .int(1)), .create([]))])
                }
                return OwnTransaction((), [ObjectOperation(ObjectRef(pilot, .int(1)), .create([]))])
            }
        }
        #expect(error?.code == .rejected && error?.message.contains("no pilots") ?? false)
    }

    @Test func `a quota counts the classes that another node has just added`() throws {
        var limits = DatabaseLimits()
        limits.classCountMax = 4
        let pair = try LaggingPair(rules: nil, limits: limits)
        try pair.first.engine.declare(pair.schema(with: "Airport"))
        let open = ClientMessage.Open(
            session: 1, path: "planes", identity: nil, version: 0, acknowledged: 0, options: [],
            schema: try pair.schema(with: "Pilot"))
        let messages = try pair.second.handle([
            .open(SessionID(connection: 90, session: 1), open, User(id: nil, mayExtendSchema: true))
        ])
        #expect(LaggingPair.failures(in: messages) == [.incompatibleSchema])
        try pair.catchUp()
        #expect(pair.first.storage.schema.index(of: "Pilot") == nil)
    }

    // MARK: What a server does by itself

    @Test func `a node that lags does not put its file's rules over later ones`() throws {
        let file = try RulesFile(LaggingPair.rules)
        let journal = MemoryJournal(databaseID: ObjectID(high: 7, low: 7))
        let (first, second) = (
            try Bench(journal: journal, seed: 1_000), try Bench(journal: journal.another(), seed: 2_000)
        )
        let isFirst = try first.engine.begin(with: file, isWritable: true, now: first.now)
        #expect(isFirst)
        let later = try RulesFile(LaggingPair.stricter)
        try first.engine.deploy(later)
        let isSecond = try second.engine.begin(with: file, isWritable: true, now: second.now)
        #expect(!isSecond)
        try first.engine.catchUp()
        #expect(try first.storage.rulesVersion == 2)
        #expect(try second.storage.rules(ofVersion: 2) == later.canonicalBytes)
    }

    @Test func `a file that is read again is compared with what others have stored until then`() throws {
        let pair = try LaggingPair()
        try pair.second.engine.begin(with: RulesFile(LaggingPair.rules), isWritable: true, now: pair.second.now)
        let file = try RulesFile(LaggingPair.generous)
        try pair.first.engine.deploy(file)
        try pair.second.engine.catchUp()
        try pair.first.engine.deploy(try RulesFile(LaggingPair.stricter))
        // The second node has just what its file says now, and another one has been faster since.
        pair.second.engine.takeOver(file, DatabaseLimits(), isFile: true, now: pair.second.now)
        try pair.catchUp()
        #expect(try pair.first.storage.rulesVersion == 4)
        #expect(try pair.first.storage.rules(ofVersion: 4) == file.canonicalBytes)
    }

    @Test func `a client that has closed its session here and opened one there is not forgotten`() throws {
        let pair = try LaggingPair(rules: nil)
        let here = try pair.second.open(options: .shortLived)
        try pair.first.engine.catchUp()
        let client = here.opened.identity.clientID
        let there = try pair.first.open(here.opened.identity, options: .shortLived)
        #expect(there.opened.outcome == .resumed)
        _ = try pair.send(.close(session: 1), here.id)
        try pair.catchUp()
        #expect(try pair.first.storage.client(client) != nil)
        // Where it closes its last session, it is.
        _ = try pair.first.handle([.messages(there.id, [.close(session: 1)])])
        try pair.catchUp()
        #expect(try pair.second.storage.client(client) == nil)
    }

    @Test func `a client that comes back in the turn in which it has left is not forgotten`() throws {
        let pair = try LaggingPair(rules: nil)
        let here = try pair.second.open(options: .shortLived)
        let open = ClientMessage.Open(
            session: 1, path: "planes", identity: here.opened.identity, version: 0, acknowledged: 0,
            options: .shortLived, schema: pair.second.planeSchema)
        _ = try pair.second.handle([
            .messages(here.id, [.close(session: 1)]),
            .open(SessionID(connection: 90, session: 1), open, User(id: nil, mayExtendSchema: true)),
        ])
        #expect(try pair.second.storage.client(here.opened.identity.clientID) != nil)
    }
}
