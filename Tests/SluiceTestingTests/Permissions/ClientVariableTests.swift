import Sluice
import SluiceModel
import SluiceRules
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

/// Values of `$client`, by which a device chooses what it syncs of what its user may read.
@Suite struct ClientVariableTests {
    private typealias World = RuledWorld

    private static let rules = RuledWorld.rules.replacing(
        "\"read\": \"isPublic == TRUE OR owner.id == $user.id OR team IN $user.teams OR $role.admin\"",
        with: "\"read\": \"isPublic == TRUE AND (text IN $client.regions OR id == $client.id) OR $role.admin\"")

    /// Public documents 1 to 4 with the texts a, b, b, c, and 5 of nobody with the text b.
    private func world(_ variables: ValueMap = ValueMap(), users: [String] = ["ada"]) throws -> RuledWorld {
        let world = try World(
            rules: Self.rules, users: users, variables: variables,
            oracle: { _, user, object, row in
                object.classIndex != World.ClassIndex.document || user == "root"
                    || row.values[World.Field.isPublic] == .bool(true)
            })
        for (key, text) in [(1, "a"), (2, "b"), (3, "b"), (4, "c")] as [(Int64, String)] {
            try world.create(World.document(key, text, isPublic: true))
        }
        try world.create(World.document(5, "b"))
        return world
    }

    private func regions(_ names: String...) -> ValueMap {
        ValueMap([(key: "regions", value: .list(names.map { .string($0) }))])
    }

    @Test func whatTheConfigurationChoosesIsSynced() throws {
        let world = try world(regions("b"))
        try world.observe("ada", "Document")
        #expect(try world.held("ada") == [2, 3])
    }

    @Test func aVariableThatIsNotSetNeverMatches() throws {
        let world = try world()
        try world.observe("ada", "Document")
        #expect(try world.held("ada") == [])
        world.choose("ada", ValueMap([(key: "region", value: .string("b"))]))
        #expect(try world.held("ada") == [])
        world.choose("ada", ValueMap([(key: "regions", value: .list([]))]))
        #expect(try world.held("ada") == [])
    }

    @Test(arguments: ["Document", "Document SORT(id DESC) LIMIT(2)", "Document DISTINCT(text)"])
    func aChoiceThatChangesInAnOpenSessionBringsAndTakesAwayInBand(query: String) throws {
        let world = try world(regions("a"))
        try world.observe("ada", query)
        #expect(try world.held("ada") == [1])
        let session = world.session(of: "ada")
        let version = world.server.version
        world.choose("ada", regions("b", "c"))
        let shown: [ObjectKey] = world["ada"].results[query]?.map(\.key) ?? []
        #expect(shown.allSatisfy { [.int(2), .int(3), .int(4)].contains($0) } && shown.contains(.int(4)))
        #expect(try world.held("ada").contains(4) && !world.held("ada").contains(1))
        #expect(world["ada"].removals[.int(1)] == .permission)
        #expect(world.session(of: "ada") == session && world.server.version == version)
        world.choose("ada", ValueMap([(key: "id", value: .int(1))]))
        #expect(try world.held("ada") == [1])
    }

    @Test func aChoiceThatChangesWhileOfflineCountsFromTheNextSession() throws {
        let world = try world(regions("a", "b"))
        try world.observe("ada", "Document")
        #expect(try world.held("ada") == [1, 2, 3])
        world.disconnect("ada")
        world.choose("ada", regions("b", "c"))
        try world.update("root", 2, World.Field.text, .string("a"))
        world.connect("ada")
        #expect(try world.held("ada") == [3, 4])
    }

    @Test func theSameChoiceAgainSendsNothing() throws {
        let world = try world(regions("a"))
        try world.observe("ada", "Document")
        let count = world["ada"].frames.count
        world.choose("ada", regions("a"))
        #expect(world["ada"].frames.count == count)
    }

    @Test func aChoiceNeverShowsWhatTheUserMayNotRead() throws {
        let world = try world(regions("b"))
        try world.observe("ada", "Document")
        world.choose("ada", ValueMap([(key: "id", value: .int(5)), (key: "regions", value: .list([.string("b")]))]))
        #expect(try world.held("ada") == [2, 3])
        #expect(!world["ada"].sent.contains(World.document(5)))
    }

    @Test func usersWithOneChoiceShareAViewAndOthersDoNot() throws {
        let world = try world(regions("b"), users: ["ada", "bob"])
        for user in ["ada", "bob"] { try world.observe(user, "Document EXCLUDE(owner, team, parent)") }
        #expect(world.engine.views.count == 1)
        world.choose("bob", regions("c"))
        #expect(world.engine.views.count == 2)
        #expect(try world.held("ada") == [2, 3] && world.held("bob") == [4])
    }

    @Test func aLongListIsTakenAndALongerOneEndsTheSession() throws {
        let world = try world()
        try world.observe("ada", "Document")
        let longest = (0..<VariableLimits.elementCountMax).map { Value.string($0 == 0 ? "c" : "\($0)") }
        world.choose("ada", ValueMap([(key: "regions", value: .list(longest))]))
        #expect(try world.held("ada") == [4])
        let session = try #require(world.session(of: "ada"))
        let longer = ValueMap([(key: "regions", value: .list(longest + [.string("b")]))])
        world.inject(.variables(session: session.session, values: longer), from: session)
        let errors = world["ada"].frames.flatMap { $0 }.compactMap { message in
            if case .error(let failure) = message { failure.code } else { nil }
        }
        #expect(errors == [.limitExceeded])
        #expect(try world.held("ada") == [4])
    }

    @Test(
        arguments: [
            ("a", .null), ("a", .link(.int(1))), ("a", .map(ValueMap())), ("a", .list([.null])), ("1a", .int(1)),
            ("", .int(1)), ("a b", .int(1)), (String(repeating: "a", count: 65), .int(1)), ("a", .list([.list([])])),
            ("a", .string(String(repeating: "x", count: 1 << 20))),
        ] as [(String, Value)])
    func whatIsNoVariableIsNamedInItsRefusal(name: String, value: Value) {
        #expect(VariableLimits.problem(with: ValueMap([(key: name, value: value)])) != nil)
    }

    @Test func tooManyVariablesAreRefused() {
        func variables(_ count: Int) -> ValueMap { ValueMap((0..<count).map { (key: "v\($0)", value: .int(1)) }) }
        #expect(VariableLimits.problem(with: variables(64)) == nil)
        #expect(VariableLimits.problem(with: variables(65)) != nil)
    }
}
