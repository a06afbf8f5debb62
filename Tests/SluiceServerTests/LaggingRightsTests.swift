import SluiceModel
import SluiceRules
import SluiceServer
import SluiceStorage
import SluiceTesting
import SluiceWire
import Testing

/// A right that one node has just taken away does not count at another that has not followed yet: it is judged in the
/// state after which the journal takes the group.
struct LaggingRightsTests {
    // MARK: The schema

    private func open(_ pair: LaggingPair, with name: String, connection: UInt64 = 90) throws -> [ServerMessage] {
        let open = ClientMessage.Open(
            session: 1, path: "planes", identity: nil, version: 0, acknowledged: 0, options: [],
            schema: try pair.schema(with: name))
        let id = SessionID(connection: connection, session: 1)
        return try pair.second.handle([.open(id, open, User(id: "bob", mayExtendSchema: true))])
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
        let answers = try pair.send(
            .remove(.init(session: 1, request: 5, className: "Spare", property: nil)), bob.id)
        #expect(LaggingPair.reportErrors(in: answers) == [.permissionDenied])
        try pair.catchUp()
        #expect(pair.first.storage.schema.index(of: "Spare") != nil)
    }

    // MARK: Rules

    private func deploy(_ pair: LaggingPair, _ rules: String, _ id: SessionID) throws -> [ServerMessage] {
        try pair.send(
            .deploy(.init(session: 1, request: 7, isTrial: false, file: Array(rules.utf8))), id)
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
