import SluiceModel
import SluiceRules
import SluiceServer
import SluiceStorage
import SluiceTesting
import SluiceWire
import Testing

/// A right that one node has just taken away does not count at another that has not followed yet: it is judged in the
/// state after which the journal takes the group. One that was just given counts there, too: nobody is refused by a state
/// that has passed.
struct LaggingRightsTests {
    // MARK: The schema

    private func open(
        _ pair: LaggingPair, with name: String, as user: String = "bob", connection: UInt64 = 90
    ) throws -> [ServerMessage] {
        try open(pair, pair.schema(with: name), as: user, connection: connection)
    }

    private func open(
        _ pair: LaggingPair, _ schema: Schema, as user: String = "bob", connection: UInt64 = 90
    ) throws -> [ServerMessage] {
        let open = ClientMessage.Open(
            session: 1, path: "planes", identity: nil, version: 0, acknowledged: 0, options: [], schema: schema)
        let id = SessionID(connection: connection, session: 1)
        return try pair.second.handle([.open(id, open, User(id: user, mayExtendSchema: true))])
    }

    private func remove(_ name: String) -> ClientMessage {
        .remove(.init(session: 1, request: 5, className: name, property: nil))
    }

    @Test(arguments: LaggingPair.Loss.allCases)
    func `who has lost the right elsewhere adds no class by opening a session`(_ loss: LaggingPair.Loss) throws {
        let pair = try LaggingPair()
        try pair.takeRights(loss)
        #expect(LaggingPair.failures(in: try open(pair, with: "Pilot")) == [.permissionDenied])
        try pair.catchUp()
        #expect(pair.first.storage.schema.index(of: "Pilot") == nil)
    }

    /// The node forgets what it has found about its users when another schema comes, and must find it anew.
    @Test func `who has lost the right behind another change of the schema adds no class`() throws {
        let pair = try LaggingPair()
        try pair.first.engine.declare(pair.schema(with: "Airport"))
        try pair.takeRights()
        #expect(LaggingPair.failures(in: try open(pair, with: "Pilot")) == [.permissionDenied])
        try pair.catchUp()
        #expect(pair.first.storage.schema.index(of: "Pilot") == nil)
    }

    @Test func `whoever still has the right adds a class behind what others have appended`() throws {
        let pair = try LaggingPair()
        try pair.first.engine.declare(pair.schema(with: "Airport"))
        #expect(LaggingPair.failures(in: try open(pair, with: "Pilot")).isEmpty)
        // What others have added meanwhile is there.
        try pair.first.engine.declare(pair.schema(with: "Runway"))
        let answers = try open(pair, with: "Runway", connection: 91)
        #expect(LaggingPair.failures(in: answers) == [.schemaChanged])
        #expect(answers.contains { if case .opened = $0 { true } else { false } })
        try pair.catchUp()
        for name in ["Airport", "Pilot", "Runway"] { #expect(pair.first.storage.schema.index(of: name) != nil) }
    }

    @Test(arguments: LaggingPair.Loss.allCases)
    func `who has lost the right elsewhere declares no class in a session`(_ loss: LaggingPair.Loss) throws {
        let pair = try LaggingPair()
        let bob = try pair.second.open(user: "bob")
        try pair.takeRights(loss)
        let answers = try pair.send(.declare(session: 1, schema: pair.schema(with: "Pilot")), bob.id)
        #expect(LaggingPair.failures(in: answers) == [.permissionDenied])
        try pair.catchUp()
        #expect(pair.first.storage.schema.index(of: "Pilot") == nil)
    }

    /// A change of the schema ends the session, and what its user may do is not followed any more.
    @Test func `a session that a followed group has ended declares no class`() throws {
        let pair = try LaggingPair()
        let bob = try pair.second.open(user: "bob")
        try pair.first.engine.declare(pair.schema(with: "Airport"))
        try pair.takeRights()
        let answers = try pair.send(.declare(session: 1, schema: pair.schema(with: "Pilot")), bob.id)
        #expect(LaggingPair.failures(in: answers) == [.schemaChanged])
        try pair.catchUp()
        #expect(pair.first.storage.schema.index(of: "Pilot") == nil)
    }

    @Test(arguments: LaggingPair.Loss.allCases)
    func `who has lost the right elsewhere removes no class`(_ loss: LaggingPair.Loss) throws {
        let pair = try LaggingPair()
        let bob = try pair.second.open(user: "bob")
        try pair.takeRights(loss)
        #expect(LaggingPair.reportErrors(in: try pair.send(remove("Spare"), bob.id)) == [.permissionDenied])
        try pair.catchUp()
        #expect(pair.first.storage.schema.index(of: "Spare") != nil)
    }

    @Test(arguments: LaggingPair.Gain.allCases)
    func `who has got the right elsewhere adds a class by opening a session`(_ gain: LaggingPair.Gain) throws {
        let pair = try LaggingPair()
        #expect(LaggingPair.failures(in: try open(pair, with: "Pilot", as: "cid")) == [.permissionDenied])
        try pair.giveRights(gain)
        #expect(LaggingPair.failures(in: try open(pair, with: "Pilot", as: "cid", connection: 91)).isEmpty)
        try pair.catchUp()
        #expect(pair.first.storage.schema.index(of: "Pilot") != nil)
    }

    @Test(arguments: LaggingPair.Gain.allCases)
    func `who has got the right elsewhere declares a class in a session`(_ gain: LaggingPair.Gain) throws {
        let pair = try LaggingPair()
        let cid = try pair.second.open(user: "cid")
        try pair.giveRights(gain)
        let answers = try pair.send(.declare(session: 1, schema: pair.schema(with: "Pilot")), cid.id)
        #expect(LaggingPair.failures(in: answers).isEmpty)
        try pair.catchUp()
        #expect(pair.first.storage.schema.index(of: "Pilot") != nil)
    }

    @Test(arguments: LaggingPair.Gain.allCases)
    func `who has got the right elsewhere removes a class`(_ gain: LaggingPair.Gain) throws {
        let pair = try LaggingPair()
        let cid = try pair.second.open(user: "cid")
        try pair.giveRights(gain)
        #expect(LaggingPair.reportErrors(in: try pair.send(remove("Spare"), cid.id)).isEmpty)
        try pair.catchUp()
        #expect(pair.first.storage.schema.index(of: "Spare") == nil)
    }

    @Test func `who may not add a class opens a session with one that another node has added`() throws {
        let pair = try LaggingPair()
        try pair.first.engine.declare(pair.schema(with: "Pilot"))
        let answers = try open(pair, with: "Pilot", as: "cid")
        #expect(LaggingPair.failures(in: answers).isEmpty)
        #expect(answers.contains { if case .opened = $0 { true } else { false } })
    }

    @Test func `a class is removed that another node has added`() throws {
        let pair = try LaggingPair()
        let bob = try pair.second.open(user: "bob")
        try pair.first.engine.declare(pair.schema(with: "Airport"))
        // The class ends the session, and its client asks again.
        let answers = try pair.send(remove("Airport"), bob.id)
        #expect(LaggingPair.failures(in: answers) == [.schemaChanged])
        #expect(LaggingPair.reportErrors(in: answers).isEmpty)
        let again = try pair.second.open(user: "bob")
        #expect(LaggingPair.reportErrors(in: try pair.send(remove("Airport"), again.id)).isEmpty)
        try pair.catchUp()
        #expect(pair.first.storage.schema.index(of: "Airport") == nil)
    }

    @Test func `a class is removed whose last object another node has deleted`() throws {
        let pair = try LaggingPair()
        let spare = ObjectRef(2, .string("a"))
        try pair.write(pair.first, [ObjectOperation(spare, .create([]))])
        let bob = try pair.second.open(user: "bob")
        #expect(LaggingPair.reportErrors(in: try pair.send(remove("Spare"), bob.id)) == [.inUse])
        try pair.write(pair.first, [ObjectOperation(spare, .delete)])
        #expect(LaggingPair.reportErrors(in: try pair.send(remove("Spare"), bob.id)).isEmpty)
        try pair.catchUp()
        #expect(pair.first.storage.schema.index(of: "Spare") == nil)
    }

    @Test func `a class that another node has removed is declared in another form`() throws {
        let pair = try LaggingPair()
        let here = try pair.first.open(user: "bob")
        _ = try pair.first.handle([.messages(here.id, [remove("Spare")])])
        let other = try Schema(
            pair.first.planeSchema.classes
                + [ClassSchema("Spare", primaryKey: "id", properties: [Property("id", .scalar(.int))])])
        #expect(LaggingPair.failures(in: try open(pair, other)).isEmpty)
        try pair.catchUp()
        #expect(pair.first.storage.schema.index(of: "Spare") != nil)
    }

    /// The node has the class when the session comes, and follows the removal as it identifies the client.
    @Test func `a session comes again that declares a class which another node has just removed`() throws {
        let pair = try LaggingPair()
        let here = try pair.first.open(user: "bob")
        _ = try pair.first.handle([.messages(here.id, [remove("Spare")])])
        #expect(LaggingPair.failures(in: try open(pair, pair.schema)) == [.schemaChanged])
        #expect(LaggingPair.failures(in: try open(pair, pair.schema, connection: 91)).isEmpty)
        try pair.catchUp()
        #expect(pair.first.storage.schema.index(of: "Spare") != nil)
    }

    /// A refusal would be final, and it is not known whether the class is there, or the right.
    @Test func `who may not add a class comes again while the journal does not answer`() throws {
        let pair = try LaggingPair()
        pair.second.journal?.faults = [.silent]
        #expect(LaggingPair.failures(in: try open(pair, with: "Pilot", as: "cid")) == [.internalError])
        pair.second.journal?.faults = []
        // The journal is asked again beside the queue.
        let retry = try #require(pair.second.engine.takeRetry())
        retry.run()
        _ = try pair.second.handle([.journalAsked(retry)])
        #expect(
            LaggingPair.failures(in: try open(pair, with: "Pilot", as: "cid", connection: 91)) == [.permissionDenied])
    }

    // MARK: Rules

    private func deploy(
        _ pair: LaggingPair, _ rules: String, _ id: SessionID, isTrial: Bool = false
    ) throws -> [ServerMessage] {
        try pair.send(
            .deploy(.init(session: 1, request: 7, isTrial: isTrial, file: Array(rules.utf8))), id)
    }

    private static let generous = #"{"database": {"rules": true}, "classes": {"Plane": {"read": true}}}"#

    @Test(arguments: LaggingPair.Loss.allCases)
    func `who has lost the right elsewhere stores no rules`(_ loss: LaggingPair.Loss) throws {
        let pair = try LaggingPair()
        let bob = try pair.second.open(user: "bob")
        try pair.takeRights(loss)
        let version = try pair.first.storage.rulesVersion
        #expect(LaggingPair.reportErrors(in: try deploy(pair, Self.generous, bob.id)) == [.permissionDenied])
        try pair.catchUp()
        #expect(try pair.first.storage.rulesVersion == version)
    }

    @Test func `whoever still has the right stores rules behind what others have appended`() throws {
        let pair = try LaggingPair()
        let bob = try pair.second.open(user: "bob")
        try pair.write(pair.first, [ObjectOperation(ObjectRef(0, .int(1)), .create([]))])
        #expect(LaggingPair.reportErrors(in: try deploy(pair, Self.generous, bob.id)).isEmpty)
        try pair.catchUp()
        #expect(try pair.first.storage.rulesVersion == 2)
    }

    @Test func `the first rules of one node are not replaced by a developer at another`() throws {
        let pair = try LaggingPair(rules: nil)
        let bob = try pair.second.open(user: "bob", mayBeginRules: true)
        try pair.first.engine.deploy(try RulesFile(LaggingPair.stricter))
        #expect(LaggingPair.failures(in: try deploy(pair, Self.generous, bob.id)) == [.permissionDenied])
        try pair.catchUp()
        #expect(try pair.first.storage.rulesVersion == 1)
    }

    /// A server without a file stores its own rules before the first that a client deploys.
    @Test func `a node does not store its own rules over those that another one has stored`() throws {
        let pair = try LaggingPair(rules: nil)
        let node = try Bench(
            journal: pair.journal.another(), seed: 3_000, rules: try RulesFile(#"{"database": {"rules": true}}"#))
        try node.engine.catchUp()
        let bob = try node.open(user: "bob")
        let stricter = try RulesFile(LaggingPair.stricter)
        try pair.first.engine.deploy(stricter)
        let answers = try node.handle([
            .messages(
                bob.id,
                [.deploy(.init(session: 1, request: 7, isTrial: false, file: Array(Self.generous.utf8)))])
        ])
        #expect(LaggingPair.reportErrors(in: answers) == [.permissionDenied])
        try pair.catchUp()
        #expect(try pair.first.storage.rulesVersion == 1)
        #expect(try pair.first.storage.rules(ofVersion: 1) == stricter.canonicalBytes)
    }

    @Test(arguments: LaggingPair.Gain.allCases)
    func `who has got the right elsewhere stores rules`(_ gain: LaggingPair.Gain) throws {
        let pair = try LaggingPair()
        let cid = try pair.second.open(user: "cid")
        try pair.giveRights(gain)
        let version = try pair.first.storage.rulesVersion
        #expect(LaggingPair.reportErrors(in: try deploy(pair, Self.generous, cid.id)).isEmpty)
        try pair.catchUp()
        #expect(try pair.first.storage.rulesVersion == version + 1)
    }

    @Test func `rules that another node has replaced are stored again`() throws {
        let pair = try LaggingPair()
        let bob = try pair.second.open(user: "bob")
        try pair.first.engine.deploy(try RulesFile(LaggingPair.generous))
        // The second node has just these.
        #expect(LaggingPair.reportErrors(in: try deploy(pair, LaggingPair.rules, bob.id)).isEmpty)
        try pair.catchUp()
        #expect(try pair.first.storage.rulesVersion == 3)
        #expect(try pair.first.storage.rules(ofVersion: 3) == RulesFile(LaggingPair.rules).canonicalBytes)
    }

    @Test(arguments: LaggingPair.Loss.allCases)
    func `who has lost the right elsewhere is not told that the rules are there`(_ loss: LaggingPair.Loss) throws {
        let pair = try LaggingPair()
        let bob = try pair.second.open(user: "bob")
        try pair.takeRights(loss)
        #expect(LaggingPair.reportErrors(in: try deploy(pair, LaggingPair.rules, bob.id)) == [.permissionDenied])
    }

    @Test func `a trial compares with the rules that another node has stored`() throws {
        let pair = try LaggingPair()
        let bob = try pair.second.open(user: "bob")
        try pair.first.engine.deploy(try RulesFile(LaggingPair.generous))
        let answers = try deploy(pair, LaggingPair.generous, bob.id, isTrial: true)
        let reports = answers.compactMap { message -> String? in
            if case .report(_, _, let json) = message { String(decoding: json, as: UTF8.self) } else { nil }
        }
        #expect(reports.count == 1 && reports[0].contains(#""changes":[]"#))
    }

    @Test func `a trial is answered by what the node knows while the journal does not answer`() throws {
        let pair = try LaggingPair()
        let bob = try pair.second.open(user: "bob")
        pair.second.journal?.faults = [.silent]
        let answers = try deploy(pair, LaggingPair.rules, bob.id, isTrial: true)
        #expect(answers.contains { if case .report = $0 { true } else { false } })
        #expect(LaggingPair.reportErrors(in: try deploy(pair, LaggingPair.rules, bob.id)) == [.internalError])
    }

    // MARK: Writes as a user

    private static let plane = ObjectOperation(ObjectRef(0, .int(1)), .create([]))

    @Test(arguments: LaggingPair.Loss.allCases)
    func `who has lost the right elsewhere is not who a backend can write as`(_ loss: LaggingPair.Loss) throws {
        let pair = try LaggingPair()
        try pair.takeRights(loss)
        let error = #expect(throws: ServerError.self) { try pair.write(pair.second, as: "bob", [Self.plane]) }
        #expect(error?.code == .rejected)
        try pair.catchUp()
        #expect(try pair.first.seats(1) == nil)
    }

    @Test func `the first rules bind a backend of another node that has not followed them`() throws {
        let pair = try LaggingPair(rules: nil)
        try pair.first.engine.deploy(try RulesFile(LaggingPair.stricter))
        let error = #expect(throws: ServerError.self) { try pair.write(pair.second, as: "bob", [Self.plane]) }
        #expect(error?.code == .rejected)
        // The server itself is bound by none.
        try pair.write(pair.second, [Self.plane])
        try pair.catchUp()
        #expect(try pair.first.seats(1) == .int(0))
    }

    // MARK: Jobs

    private static func letter(_ version: UInt64) -> JobWrite {
        let key = JobRecord.Key(
            space: ConsumerState.deadPrefix + "mailer", name: DeadLetterRecord.name(of: "Plane", .int(1)))
        let record = DeadLetterRecord(
            CancellationError(), attemptCount: 1, time: Timestamp(microseconds: 1), version: version)
        return JobWrite(
            key, .set(.never, value: record.wireBytes()), if: .anything,
            .unchanged(Identity(className: "Plane", key: .int(1)), version: version))
    }

    @Test(arguments: LaggingPair.Loss.allCases)
    func `who has lost the right elsewhere changes no record of a job`(_ loss: LaggingPair.Loss) throws {
        let pair = try LaggingPair()
        try pair.write(pair.first, [Self.plane])
        try pair.second.engine.catchUp()
        let version = pair.first.storage.version
        let bob = try pair.second.open(user: "bob")
        try pair.takeRights(loss)
        let write = Self.letter(version)
        let answers = try pair.send(.job(.init(session: 1, request: 9, question: .apply([write]))), bob.id)
        #expect(LaggingPair.reportErrors(in: answers) == [.permissionDenied])
        try pair.catchUp()
        #expect(try pair.first.storage.job(write.key) == nil)
    }

    @Test(arguments: LaggingPair.Gain.allCases)
    func `who has got the right elsewhere changes a record of a job`(_ gain: LaggingPair.Gain) throws {
        let pair = try LaggingPair()
        try pair.write(pair.first, [Self.plane])
        let version = pair.first.storage.version
        let cid = try pair.second.open(user: "cid")
        try pair.giveRights(gain)
        let write = Self.letter(version)
        let answers = try pair.send(.job(.init(session: 1, request: 9, question: .apply([write]))), cid.id)
        #expect(LaggingPair.reportErrors(in: answers).isEmpty)
        try pair.catchUp()
        #expect(try pair.first.storage.job(write.key) != nil)
    }

    @Test(arguments: LaggingPair.Loss.allCases)
    func `a job of a backend counts by what its user may still read`(_ loss: LaggingPair.Loss) throws {
        let pair = try LaggingPair()
        try pair.write(pair.first, [Self.plane])
        try pair.second.engine.catchUp()
        let write = Self.letter(pair.first.storage.version)
        try pair.takeRights(loss)
        #expect(try pair.second.engine.applyJobs([write], as: "bob", now: pair.second.now) == [false])
        #expect(try pair.second.engine.applyJobs([write], as: nil, now: pair.second.now) == [true])
    }
}
