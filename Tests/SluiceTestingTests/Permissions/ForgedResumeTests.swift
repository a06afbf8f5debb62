import Sluice
import SluiceModel
import SluiceQuery
import SluiceRules
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

/// A client may say of the version of its objects what it wants: that tells it nothing of what there was before its user
/// had the right to know.
@Suite struct ForgedResumeTests {
    private typealias World = RuledWorld

    /// Pretends that `ada` has had all that a query found at a version, and returns what the server answers.
    private func resume(
        _ world: RuledWorld, _ text: String, since version: UInt64, number: UInt64 = 1_000
    ) throws -> [ServerMessage] {
        let session = try #require(world.session(of: "ada"))
        let hash = try Query.parse(text, schema: world.server.schema).hash
        let resume = ClientMessage.Resume(version: version, queryHash: hash, memberCount: 0)
        world["ada"].frames = []
        world.inject(
            .subscribe(.init(session: session.session, subscription: number, query: text, resume: resume)),
            from: session)
        return world["ada"].frames.flatMap { $0 }
    }

    private func departures(_ messages: [ServerMessage]) -> [ObjectRef] {
        messages.flatMap { message -> [ObjectRef] in
            if case .page(let page) = message { page.content.departures.map(\.object) } else { [] }
        }
    }

    private func isResumed(_ messages: [ServerMessage]) -> Bool {
        messages.contains { if case .complete(let complete) = $0 { complete.kind == .resumed } else { false } }
    }

    /// The team's documents before `ada` joins: 20 is deleted, and 21 gets another text.
    private func world() throws -> (RuledWorld, since: UInt64) {
        let world = try World(users: ["ada", "bob"])
        try world.setTeam(7, ["bob"])
        try world.create(World.document(20, "gone", team: 7), World.document(21, "secret", team: 7))
        let version = world.server.version
        try world.write("root") { try $0.delete(World.document(20)) }
        try world.update("root", 21, World.Field.text, .string("public"))
        try world.setTeam(7, ["ada", "bob"])
        return (world, version)
    }

    @Test(arguments: ["Document", "Document WHERE text == 'secret'", "Document SORT(text ASC) LIMIT(5)"])
    func whoJoinsIsNotToldWhatThereWasBefore(query: String) throws {
        let (world, version) = try world()
        let answer = try resume(world, query, since: version)
        #expect(departures(answer).isEmpty && !isResumed(answer))
    }

    /// Nobody could read what teams had before the present rules.
    @Test(arguments: ["Document", "Document WHERE text == 'secret'", "Document SORT(text ASC) LIMIT(5)"])
    func rulesThatOpenAClassDoNotOpenItsPast(query: String) throws {
        let open = RuledWorld.rules
        let closed = open.replacing("team IN $user.teams", with: "team IN $user.teams AND FALSEPREDICATE")
        #expect(closed != open)
        let world = try World(rules: closed, users: ["ada", "bob"])
        world.skipsOracle = true
        try world.setTeam(7, ["ada", "bob"])
        try world.create(World.document(20, "gone", team: 7), World.document(21, "secret", team: 7))
        let version = world.server.version
        try world.write("root") { try $0.delete(World.document(20)) }
        try world.update("root", 21, World.Field.text, .string("public"))
        world.deploy(try RulesFile(open))
        let since = world.server.version
        let answer = try resume(world, query, since: version)
        #expect(departures(answer).isEmpty && !isResumed(answer))
        // What has happened under these rules is told.
        try world.write("root") { try $0.delete(World.document(21)) }
        #expect(try isResumed(resume(world, "Document", since: since, number: 1_001)))
    }

    @Test func whoHadTheSameRightsThenAndNowIsToldWhatChanged() throws {
        let (world, _) = try world()
        let version = world.server.version
        try world.setTeam(8, ["ada"])
        try world.setTeam(8, [])
        try world.write("root") { try $0.delete(World.document(21)) }
        let answer = try resume(world, "Document", since: version)
        #expect(departures(answer).contains(World.document(21)) && isResumed(answer))
    }
}
