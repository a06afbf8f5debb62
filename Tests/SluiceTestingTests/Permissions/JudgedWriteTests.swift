import Sluice
import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceViews
import SluiceWire
import Testing

/// Writes that the server's rules judge.
@Suite struct JudgedWriteTests {
    private typealias World = RuledWorld

    private func world() throws -> RuledWorld {
        let world = try World(users: ["ada", "bob"])
        try world.setTeam(7, ["ada"])
        try world.create(
            World.document(1, "of ada", owner: "ada"), World.document(2, "of bob", owner: "bob"),
            World.document(3, "of the team", team: 7), World.document(4, "of all", isPublic: true))
        for user in ["ada", "bob"] { try world.observe(user, "Document") }
        return world
    }

    private func text(_ world: RuledWorld, _ key: Int64) throws -> Value? {
        try world.server.row(World.document(key))?.values[World.Field.text]
    }

    @Test func whatIsAllowedIsStored() throws {
        let world = try world()
        try world.update("ada", 1, World.Field.text, .string("new"))
        try world.update("ada", 3, World.Field.text, .string("new"))
        try world.write("ada") { try $0.insert(World.document(10, owner: "ada"), ofClass: World.ClassIndex.document) }
        try world.write("ada") { try $0.delete(World.document(1)) }
        #expect(try text(world, 1) == nil && text(world, 3) == .string("new") && text(world, 10) == .string(""))
        #expect(world["ada"].rejections.isEmpty)
    }

    /// A deletion that a later creation overtakes asks for the right to delete and no other.
    @Test(arguments: [true, false]) func aDeletionWithoutEffectIsJudgedAsADeletion(mayDelete: Bool) throws {
        let rules = """
            {"roles": {"admin": "$user.claims.role == 'admin'"},
             "classes": {"User": {"read": true, "create": "$role.admin"},
                         "Document": {"read": true, "create": "$role.admin", "update": "$role.admin",
                                      "delete": "\(mayDelete ? "TRUEPREDICATE" : "$role.admin")"}}}
            """
        let world = try World(rules: rules, users: ["ada"]) { _, _, _, _ in true }
        try world.create(World.document(1, "first"))
        try world.observe("ada", "Document")
        world.disconnect("ada")
        try world.write("ada") { try $0.delete(World.document(1)) }
        try world.write("root") { try $0.delete(World.document(1)) }
        try world.create(World.document(1, "second"))
        world.connect("ada")
        #expect(try text(world, 1) == .string("second"))
        #expect(world["ada"].rejections.count == (mayDelete ? 0 : 1))
        #expect(try world.held("ada") == [1])
    }

    /// Two have created the object without knowing of each other, and the deletion is between the two. What the later
    /// one has made is left, and its author was allowed to make it: who deletes needs no right to create.
    @Test(arguments: [true, false])
    func aDeletionThatLeavesWhatAnotherHasMadeIsJudgedAsADeletion(mayDelete: Bool) throws {
        let rules = """
            {"roles": {"admin": "$user.claims.role == 'admin'"},
             "classes": {"User": {"read": true, "create": "$role.admin"},
                         "Document": {"read": true, "create": "NOT $user.id == 'ada'",
                                      "update": "NOT $user.id == 'ada'",
                                      "delete": "\(mayDelete ? "TRUEPREDICATE" : "$role.admin")"}}}
            """
        let world = try World(rules: rules, users: ["ada", "bob"]) { _, _, _, _ in true }
        world.disconnect("bob")
        try world.create(World.document(1, "first", grade: 3))
        try world.observe("ada", "Document")
        world.disconnect("ada")
        try world.write("ada") { try $0.delete(World.document(1)) }
        try world.write("bob") {
            try $0.insert(World.document(1, "second", owner: "bob"), ofClass: World.ClassIndex.document)
        }
        world.connect("bob")
        #expect(try world.server.row(World.document(1))?.values[World.Field.grade] == .int(3))
        world.connect("ada")
        #expect(try text(world, 1) == .string("second"))
        #expect(try world.server.row(World.document(1))?.values[World.Field.grade] == .int(mayDelete ? 0 : 3))
        #expect(world["ada"].rejections.count == (mayDelete ? 0 : 1))
        #expect(try world.held("ada") == [1])
    }

    /// A link to an object of a transitive class lets everybody read it who may read what has the link. Who makes one must
    /// be able to read it already, and what is not there answers as what may not be read.
    @Test func nobodyReadsByALinkOfHisOwnWhatHeMayNotRead() throws {
        let world = try World(
            rules: World.rules.replacing(
                "\"Team\": {\"read\": \"$role.admin", with: "\"Team\": {\"transitive\": true, \"read\": \"$role.admin"),
            users: ["ada"])
        world.skipsOracle = true
        try world.setTeam(7, ["ada"])
        for key in [8, 9] as [Int64] { try world.setTeam(key, []) }
        try world.create(World.document(1, owner: "ada"), World.document(2, team: 9, isPublic: true))
        for query in ["Document", "Team"] { try world.observe("ada", query) }
        func teams() -> [ObjectKey] { world["ada"].results["Team"]?.map(\.key).sorted() ?? [] }
        #expect(teams() == [.int(7), .int(9)])
        for (key, team) in [(10, 8), (11, 77)] as [(Int64, Int64)] {
            try world.write("ada") {
                try $0.insert(World.document(key, owner: "ada", team: team), ofClass: World.ClassIndex.document)
            }
            try world.update("ada", 1, World.Field.team, .link(.int(team)))
        }
        #expect(
            world["ada"].rejections.count == 4 && world["ada"].rejections.allSatisfy { $0.reason.code == .notPermitted }
        )
        #expect(Set(world["ada"].rejections.map(\.reason.message)).count == 1)
        #expect(teams() == [.int(7), .int(9)])
        // What the author may read may be linked, and the administrator may link everything.
        for team in [7, 9] as [Int64] { try world.update("ada", 1, World.Field.team, .link(.int(team))) }
        #expect(world["ada"].rejections.count == 4)
        try world.update("root", 1, World.Field.team, .link(.int(8)))
        #expect(teams() == [.int(7), .int(8), .int(9)])
        // A link that is there already is no new one.
        try world.update("ada", 1, World.Field.text, .string("x"))
        #expect(world["ada"].rejections.count == 4)
    }

    /// Both devices of a user insert the same object. Of a property that the user may not write neither chose a value.
    @Test func aCreationOfWhatIsThereIsNotJudgedByDefaultsThatYield() throws {
        let world = try World(users: ["ada"])
        try world.create(World.document(1, "first", owner: "ada", grade: 3))
        try world.write("ada") {
            try $0.insert(World.document(1, "second", owner: "ada"), ofClass: World.ClassIndex.document)
        }
        #expect(world["ada"].rejections.isEmpty)
        let row = try #require(try world.server.row(World.document(1)))
        #expect(row.values[World.Field.text] == .string("second") && row.values[World.Field.grade] == .int(3))
        try world.write("ada") {
            try $0.insert(World.document(2, "own", owner: "ada", grade: 1), ofClass: World.ClassIndex.document)
        }
        #expect(try text(world, 2) == nil && world["ada"].rejections.count == 1)
    }

    /// Whether a default would change a value that its author may not write, and perhaps not read, does not show.
    @Test(arguments: [0, 3] as [Int64], [0, 3, 5] as [Int64])
    func aDefaultOfWhatMayNotBeWrittenHasNoEffectAndNoAnswer(grade: Int64, value: Int64) throws {
        let world = try World(users: ["ada"])
        try world.create(World.document(1, "first", owner: "ada", grade: grade))
        let session = try #require(world.session(of: "ada"))
        let changeset = Changeset(
            sequence: 1, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 2_000_000),
            operations: [
                ObjectOperation(
                    World.document(1), .update([FieldOperation(World.Field.grade, .setDefault(.int(value)))]))
            ])
        world.inject(.upload(session: session.session, changesets: [changeset]), from: session)
        #expect(world["ada"].rejections.isEmpty)
        #expect(try world.server.row(World.document(1))?.values[World.Field.grade] == .int(grade))
    }

    @Test func whatMayBeReadAndNotWrittenIsRefusedWithAReasonAndReverted() throws {
        let world = try world()
        try world.update("ada", 4, World.Field.text, .string("mine"))
        #expect(try text(world, 4) == .string("of all"))
        let rejection = try #require(world["ada"].rejections.first)
        #expect(rejection.reason.code == SyncError.Code.notPermitted && rejection.object?.key == .int(4))
        #expect(rejection.rejectedValues == ["text": .string("mine")])
        #expect(try world["ada"].storage.row(World.document(4))?.values[World.Field.text] == .string("of all"))
    }

    @Test func aTransactionIsRefusedAsAWhole() throws {
        let world = try world()
        try world.write("ada") { writer in
            try writer.update(World.document(1), [FieldOperation(World.Field.text, .set(.string("new")))])
            try writer.update(World.document(4), [FieldOperation(World.Field.text, .set(.string("new")))])
        }
        #expect(try text(world, 1) == .string("of ada") && text(world, 4) == .string("of all"))
    }

    @Test func nobodyCreatesInAnothersName() throws {
        let world = try world()
        try world.write("ada") { try $0.insert(World.document(10, owner: "bob"), ofClass: World.ClassIndex.document) }
        #expect(try text(world, 10) == nil && world["ada"].rejections.count == 1)
        #expect(try world.held("ada") == world.readable("ada"))
    }

    @Test func grantingOneselfRightsDoesNotHelpInTheSameTransaction() throws {
        let world = try world()
        try world.write("bob") { writer in
            try writer.insert(
                Row(key: .int(8), values: [.int(8), .list([.link(.string("bob"))])]), ofClass: World.ClassIndex.team)
            try writer.insert(World.document(11, owner: "bob", team: 8), ofClass: World.ClassIndex.document)
        }
        #expect(try world.server.row(World.team(8)) == nil && text(world, 11) == nil)
    }

    @Test func whoGivesAccessAwayIsJudgedWithoutItAfterwards() throws {
        let world = try world()
        // Both uploads come in one frame.
        world["ada"].isReachable = false
        world.disconnect("ada")
        try world.write("ada") { writer in
            try writer.update(World.document(3), [FieldOperation(World.Field.text, .set(.string("before")))])
        }
        try world.setTeam(7, ["ada", "bob"])
        try world.setTeam(7, ["bob"])
        world.connect("ada")
        // It does not exist for ada any more.
        #expect(try text(world, 3) == .string("of the team"))
        #expect(try world.held("ada") == world.readable("ada"))
    }

    @Test func aBlindWriteToWhatMayNotBeReadAnswersAsForWhatIsNotThere() throws {
        func answers(_ key: Int64, _ action: ObjectOperation.Action) throws -> [[ServerMessage]] {
            let world = try world()
            let count = world["ada"].frames.count
            let session = SessionID(connection: world["ada"].number, session: 1)
            let changeset = Changeset(
                sequence: 1, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1),
                operations: [ObjectOperation(World.document(key), action)])
            world.inject(.upload(session: 1, changesets: [changeset]), from: session)
            #expect(try text(world, 2) == .string("of bob"))
            return Array(world["ada"].frames[count...])
        }
        let actions: [ObjectOperation.Action] = [
            .update([FieldOperation(World.Field.text, .set(.string("x")))]),
            .update([FieldOperation(World.Field.grade, .add(.int(1)))]), .delete,
        ]
        for action in actions { #expect(try answers(2, action) == answers(99, action)) }
    }

    @Test func aCreationWithTheKeyOfAnInvisibleObjectIsRefusedAndNeverMerged() throws {
        let world = try world()
        try world.write("ada") { writer in
            try writer.insert(World.document(2, "mine", owner: "ada"), ofClass: World.ClassIndex.document)
        }
        #expect(try text(world, 2) == .string("of bob"))
        #expect(world["ada"].rejections.map(\.reason.code) == [.notPermitted])
        #expect(try world.held("ada") == world.readable("ada"))
    }

    @Test func aWriteThatHidesTheObjectFromItsAuthorIsTakenAndTheObjectLeavesForThatReason() throws {
        let world = try world()
        try world.update("ada", 1, World.Field.owner, .link(.string("bob")))
        #expect(world["ada"].rejections.isEmpty && world["ada"].storage.outboxCount == 0)
        #expect(try world.held("ada") == world.readable("ada"))
        #expect(try world.held("bob") == world.readable("bob"))
        #expect(world["ada"].removals[.int(1)] == .permission)
    }

    @Test func aPropertyWithARuleOfItsOwnIsWrittenByWhomItAllows() throws {
        let world = try world()
        try world.update("ada", 1, World.Field.grade, .int(5))
        #expect(world["ada"].rejections.count == 1)
        try world.update("root", 1, World.Field.grade, .int(5))
        #expect(try world.server.row(World.document(1))?.values[World.Field.grade] == .int(5))
    }

    @Test func pendingWritesOfWhoLostAccessWhileAwayAreJudgedByWhatHoldsNow() throws {
        let world = try world()
        world.disconnect("ada")
        try world.update("ada", 3, World.Field.text, .string("offline"))
        try world.write("ada") { try $0.insert(World.document(12, owner: "ada"), ofClass: World.ClassIndex.document) }
        try world.setTeam(7, [])
        world.connect("ada")
        #expect(try text(world, 3) == .string("of the team") && text(world, 12) == .string(""))
        #expect(try world.held("ada") == [1, 4, 12])
    }

    @Test func aClassWithoutRulesAndTheSchemaAreClosed() throws {
        let world = try world()
        let schema = try Schema([
            ClassSchema("Note", primaryKey: "id", properties: [Property("id", .scalar(.int))])
        ])
        let session = SessionID(connection: world["ada"].number, session: 1)
        world.inject(.declare(session: 1, schema: schema), from: session)
        #expect(world.server.schema.index(of: "Note") == nil)
        let root = SessionID(connection: world["root"].number, session: 1)
        world.inject(.declare(session: 1, schema: schema), from: root)
        #expect(world.server.schema.index(of: "Note") != nil)
        try world.observe("bob", "Note")
        #expect(world["bob"].results["Note"]?.isEmpty ?? false)
        #expect(try world.held("bob") == world.readable("bob"))
    }

    @Test func reportsNeedTheirRight() throws {
        let world = try world()
        for (user, isAllowed) in [("ada", false), ("root", true)] {
            let count = world[user].frames.count
            let request = ClientMessage.ReportRequest(session: 1, request: 1, topic: .subscriptions)
            world.inject(.reportRequest(request), from: SessionID(connection: world[user].number, session: 1))
            let answer = world[user].frames[count...].flatMap { $0 }
            #expect(answer.contains { if case .report = $0 { true } else { false } } == isAllowed)
        }
    }
}

/// Uploads of sessions that end before they are judged.
@Suite struct DepartedWriteTests {
    private typealias World = RuledWorld

    /// Uploads a document as `ada`, and breaks the protocol in the same frame.
    private func upload(owner: String) throws -> (isStored: Bool, messages: [ServerMessage]) {
        let world = try World(users: ["ada", "bob"])
        let id = SessionID(connection: 99, session: 1)
        let now = Timestamp(microseconds: 1_000_000)
        let open = ClientMessage.Open(session: 1, path: "documents", schema: try World.schema())
        _ = world.engine.handle([.open(id, open, User(id: "ada", mayExtendSchema: false))], now: now)
        let row = World.document(10, owner: owner)
        let fields = row.values.indices.dropFirst().map { FieldOperation($0, .set(row.values[$0])) }
        let changesets = [1, 3].map { sequence in
            Changeset(
                sequence: sequence, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1_000_000),
                operations: [ObjectOperation(World.document(10), .create(fields))])
        }
        let actions = world.engine.handle([.messages(id, [.upload(session: 1, changesets: changesets)])], now: now)
        var messages: [ServerMessage] = []
        for case .send(let frame, 99) in actions { messages += try Frame.decode(frame, as: ServerMessage.self) }
        return (try world.server.row(World.document(10)) != nil, messages)
    }

    private func endsSession(_ messages: [ServerMessage]) -> Bool {
        messages.contains { if case .error(let failure) = $0 { failure.code == .protocolViolation } else { false } }
    }

    @Test func whatIsForbiddenIsNotStored() throws {
        let (isStored, messages) = try upload(owner: "bob")
        #expect(!isStored && endsSession(messages))
    }

    @Test func whatIsAllowedIsStored() throws {
        let (isStored, messages) = try upload(owner: "ada")
        #expect(isStored && endsSession(messages))
    }
}
