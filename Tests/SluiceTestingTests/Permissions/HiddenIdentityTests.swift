import Sluice
import SluiceModel
import SluiceQuery
import SluiceRules
import SluiceServer
import SluiceStorage
import SluiceViews
import SluiceWire
import Testing

/// Links to objects whose class hides who they are. ``RuledWorld`` judges every link in every frame.
@Suite struct HiddenIdentityTests {
    private typealias World = RuledWorld

    private static let rules = RuledWorld.rules
        .replacing("\"Team\": {", with: "\"Team\": {\"hideIdentity\": true, ")
        .replacing("\"Document\": {", with: "\"Document\": {\"hideIdentity\": true, ")
        .replacing("\"reports\": \"$role.admin\"", with: "\"reports\": \"$user.id != NULL\"")

    private static let queries = [
        "Document", "Document SORT(id ASC) LIMIT(2)", "Document DISTINCT(text)", "Document EXCLUDE(owner)",
        "Document WHERE owner.id == 'ada'",
    ]

    /// Documents 1 of ada, whose parent is 2 of root, and 3 of ada in team 7.
    private func world(limits: DatabaseLimits = DatabaseLimits()) throws -> RuledWorld {
        let world = try World(rules: Self.rules, users: ["ada", "bob"], limits: limits)
        world.veiled = [World.ClassIndex.team, World.ClassIndex.document]
        try world.setTeam(7, ["bob"])
        try world.create(
            World.document(1, "a", owner: "ada", parent: 2), World.document(2, "b"),
            World.document(3, "c", owner: "ada", team: 7))
        return world
    }

    private func value(_ world: RuledWorld, _ key: Int64, _ field: Int, _ user: String = "ada") throws -> Value? {
        try world[user].storage.row(World.document(key))?.values[field]
    }

    @Test(arguments: queries)
    func aLinkToWhatMayNotBeReadIsNullUntilItMay(query: String) throws {
        let world = try world()
        try world.observe("ada", query)
        #expect(try value(world, 1, World.Field.parent) == .null && value(world, 3, World.Field.team) == .null)
        try world.update("root", 2, World.Field.isPublic, .bool(true))
        #expect(try value(world, 1, World.Field.parent) == .link(.int(2)))
        try world.update("root", 2, World.Field.isPublic, .bool(false))
        #expect(try value(world, 1, World.Field.parent) == .null)
        try world.setTeam(7, ["ada"])
        #expect(try value(world, 3, World.Field.team) == .link(.int(7)))
        try world.setTeam(7, [])
        #expect(try value(world, 3, World.Field.team) == .null)
    }

    @Test(arguments: queries)
    func aLinkToWhatWasDeletedIsNull(query: String) throws {
        let world = try world()
        try world.observe("ada", query)
        try world.update("root", 2, World.Field.isPublic, .bool(true))
        #expect(try value(world, 1, World.Field.parent) == .link(.int(2)))
        try world.write("root") { try $0.delete(World.document(2)) }
        #expect(try value(world, 1, World.Field.parent) == .null)
        try world.create(World.document(2, "again", isPublic: true))
        #expect(try value(world, 1, World.Field.parent) == .link(.int(2)))
    }

    @Test(arguments: [true, false])
    func whoComesBackHasTheLinksThatMayBeSeenNow(shows: Bool) throws {
        let world = try world()
        try world.update("root", 2, World.Field.isPublic, .bool(!shows))
        for query in Self.queries { try world.observe("ada", query) }
        world.disconnect("ada")
        try world.update("root", 2, World.Field.isPublic, .bool(shows))
        world.connect("ada")
        #expect(try value(world, 1, World.Field.parent) == (shows ? .link(.int(2)) : .null))
    }

    @Test(arguments: [true, false])
    func whoComesBackInAnotherContextHasTheLinksThatMayBeSeenNow(shows: Bool) throws {
        let world = try world()
        try world.setTeam(7, shows ? [] : ["ada"])
        for query in Self.queries { try world.observe("ada", query) }
        world.disconnect("ada")
        try world.setTeam(7, shows ? ["ada"] : [])
        world.connect("ada")
        #expect(try value(world, 3, World.Field.team) == (shows ? .link(.int(7)) : .null))
    }

    @Test func aPageThatWaitsDoesNotTellALinkThatIsHiddenMeanwhile() throws {
        var limits = DatabaseLimits()
        limits.pageRowCount = 1
        let world = try world(limits: limits)
        try world.update("root", 2, World.Field.isPublic, .bool(true))
        for key in 10...16 as ClosedRange<Int64> { try world.create(World.document(key, owner: "ada", parent: 2)) }
        world.sendsPages = false
        try world.observe("ada", "Document")
        for _ in 0..<4 { world.step() }
        try world.update("root", 2, World.Field.isPublic, .bool(false))
        world.sendsPages = true
        world.settle()
        for key in 10...16 as ClosedRange<Int64> { #expect(try value(world, key, World.Field.parent) == .null) }
    }

    @Test func whoLinksToWhatItMayNotReadSeesNullOnceItIsAcknowledged() throws {
        let world = try world()
        try world.observe("ada", "Document")
        try world.update("ada", 3, World.Field.parent, .link(.int(2)))
        #expect(try world.server.row(World.document(3))?.values[World.Field.parent] == .link(.int(2)))
        #expect(try value(world, 3, World.Field.parent) == .null)
    }

    @Test(
        arguments: [
            ("Document WHERE parent == NULL", [1, 3]), ("Document WHERE parent == 2", []),
            ("Document WHERE team == 7", []),
            ("Document WHERE team != NULL", []), ("Document WHERE parent.id == 2", []),
        ] as [(String, [Int64])])
    func aConditionFindsNothingByAHiddenLink(query: String, expected: [Int64]) throws {
        let world = try world()
        try world.observe("ada", query)
        #expect(try world.held("ada") == expected)
        try world.update("root", 2, World.Field.isPublic, .bool(true))
        try world.setTeam(7, ["ada"])
        let all = try found(world, query)
        #expect(Set(world["ada"].results[query]?.map(\.key) ?? []) == Set(all))
    }

    /// What a query finds where everything that it names may be read.
    private func found(_ world: RuledWorld, _ text: String) throws -> [ObjectKey] {
        let query = try Query.parse(text, schema: world.server.schema)
        return try world.server.refs(matching: query).map(\.key).filter { key in
            try world.mayRead(world["ada"], ObjectRef(World.ClassIndex.document, key))
        }
    }

    @Test func equalChangesOfReadersWhoSeeOtherLinksAreEncodedForEach() throws {
        let world = try world()
        try world.create(World.document(20, "shared", team: 7, isPublic: true))
        for user in ["ada", "bob"] { try world.observe(user, "Document WHERE isPublic == TRUE") }
        try world.setTeam(8, ["ada"])
        try world.update("root", 20, World.Field.team, .link(.int(8)))
        #expect(try value(world, 20, World.Field.team, "ada") == .link(.int(8)))
        #expect(try value(world, 20, World.Field.team, "bob") == .null)
        try world.update("root", 20, World.Field.team, .link(.int(7)))
        #expect(try value(world, 20, World.Field.team, "ada") == .null)
        #expect(try value(world, 20, World.Field.team, "bob") == .link(.int(7)))
    }

    @Test func theDigestCoversTheLinksThatShow() throws {
        let world = try world()
        for query in ["Document", "Document SORT(id ASC) LIMIT(2)"] { try world.observe("ada", query) }
        world["ada"].frames = []
        world.sendDigests()
        let sent = world["ada"].frames.flatMap { $0 }
        #expect(sent.contains { if case .digest = $0 { true } else { false } })
        #expect(!sent.contains { if case .page = $0 { true } else { false } })
    }

    // MARK: Lists

    /// Users are hidden from each other, and teams list them.
    private func listed() throws -> RuledWorld {
        let rules = Self.rules
            .replacing(
                "\"read\": \"TRUEPREDICATE\"",
                with: "\"hideIdentity\": true, \"read\": \"id == $user.id OR id == 'root' OR $role.admin\"")
        let world = try World(
            rules: rules, users: ["ada", "bob", "cyd"],
            oracle: { world, user, object, _ in
                switch object.classIndex {
                case World.ClassIndex.user:
                    user == "root" || object.key == .string(user) || object.key == .string("root")
                case World.ClassIndex.team: try user == "root" || world.isMember(world[user], of: object.key)
                default: user == "root"
                }
            })
        world.veiled = [World.ClassIndex.user]
        try world.setTeam(7, ["bob", "ada", "root", "cyd"])
        return world
    }

    @Test func aListLacksWhatMayNotBeRead() throws {
        let world = try listed()
        try world.observe("ada", "Team")
        let members = try world["ada"].storage.row(World.team(7))?.values[1]
        #expect(members == .list([.link(.string("ada")), .link(.string("root"))]))
        try world.setTeam(7, ["cyd", "ada"])
        #expect(try world["ada"].storage.row(World.team(7))?.values[1] == .list([.link(.string("ada"))]))
    }

    @Test(arguments: [
        ("members.@count == 2", true), ("members.@count == 4", false), ("members.@count > 2", false),
        ("members[0].id == 'ada'", true), ("members[LAST].id == 'root'", true), ("members[2] == NULL", true),
        ("members == {'ada', 'root'}", true), ("members.@count == 0", false), ("ANY members == 'bob'", false),
        ("SUBQUERY(members, $m, $m.id != 'x').@count == 2", true), ("ALL members.id IN {'ada', 'root'}", true),
    ])
    func whatMayNotBeReadDoesNotCountInAList(condition: String, holds: Bool) throws {
        let world = try listed()
        let query = "Team WHERE \(condition)"
        try world.observe("ada", query)
        #expect(world["ada"].errors[query] == nil)
        #expect((world["ada"].results[query]?.count == 1) == holds)
    }

    /// Every way in which a list decides what a query finds.
    private static let listQueries = [
        "Team", "Team SORT(members.@count DESC, id ASC) LIMIT(2)",
        "Team WHERE members.@count > 2", "Team WHERE members[0].id == 'ada'", "Team WHERE members[LAST].id == 'root'",
        "Team WHERE members == {'ada', 'root'}", "Team WHERE NONE members.id == 'bob'",
        "Team WHERE SUBQUERY(members, $m, $m.id != 'ada').@count > 1",
        "User WHERE @links.Team.members.@count > 0", "User WHERE ANY @links.Team.members.members.@count > 2",
    ]

    private static let linkQueries = [
        "Document", "Document SORT(id ASC) DISTINCT(parent)", "Document SORT(id ASC) DISTINCT(team, parent) LIMIT(2)",
        "Document SORT(parent.id DESC, id ASC)", "Document SORT(team.members.@count DESC, id ASC) LIMIT(2)",
        "Document WHERE parent IN {50, 51}", "Document WHERE parent != NULL", "Document WHERE NOT parent == 50",
        "Document WHERE team.members.@count > 0", "Document WHERE parent.parent == NULL",
        "Document WHERE parent == parent.parent", "Document WHERE ANY @links.Document.parent.id == 50",
        "Document WHERE @links.@count > 0", "Document EXCLUDE(parent)", "Document WHERE id == 1 LIMIT(1)",
    ]

    /// Runs one story with links of readable objects, and returns everything that `ada` was sent.
    private func told(parent: Int64?, team: Int64?) throws -> [[ServerMessage]] {
        let world = try world()
        try world.create(World.document(50, "hidden", parent: 51), World.document(51, "hidden"))
        try world.create(
            World.document(60, "a", owner: "ada", team: team, parent: parent),
            World.document(61, "b", owner: "ada", parent: parent), World.document(62, "c", owner: "ada", team: team),
            World.document(63, "d", owner: "ada"))
        for query in Self.linkQueries { try world.observe("ada", query) }
        try world.update("root", 50, World.Field.text, .string("changed"))
        try world.update("root", 61, World.Field.parent, parent.map { .link(.int($0 + 1)) } ?? .null)
        try world.update("ada", 63, World.Field.text, .string("new"))
        world.disconnect("ada")
        if let parent {
            try world.update("root", 63, World.Field.parent, .link(.int(parent)))
        } else {
            try world.update("root", 50, World.Field.text, .string("again"))
        }
        world.connect("ada")
        return world["ada"].frames
    }

    @Test func aHiddenLinkIsToTheLastByteAsIfThereWasNone() throws {
        try expectEqual(try told(parent: 50, team: 7), try told(parent: nil, team: nil))
    }

    private func expectEqual(_ told: [[ServerMessage]], _ other: [[ServerMessage]]) throws {
        #expect(told.count == other.count)
        for (index, (left, right)) in zip(told, other).enumerated() where left != right {
            Issue.record("frame \(index): \(left) and \(right)")
            break
        }
    }

    /// Runs one story with other hidden members, and returns everything that `ada` was sent.
    private func told(_ members: [String], _ hidden: String) throws -> [[ServerMessage]] {
        let world = try listed()
        try world.setTeam(7, members)
        for query in Self.listQueries { try world.observe("ada", query) }
        try insert(hidden, at: 1, by: "root", in: world)
        try insert("root", at: 0, by: "root", in: world)
        world.disconnect("ada")
        try insert(hidden, at: 0, by: "root", in: world)
        world.connect("ada")
        return world["ada"].frames
    }

    private func insert(_ member: String, at position: Int, by user: String, in world: RuledWorld) throws {
        try world.write(user) { writer in
            try writer.edit(
                1, of: World.team(7),
                { .inserting([.link(.string(member))], at: position, in: $0, by: $1) },
                or: { $0 + [.link(.string(member))] })
        }
    }

    private func erase(_ position: Int, by user: String, in world: RuledWorld) throws {
        try world.write(user) { writer in
            try writer.edit(
                1, of: World.team(7), { list, _ in .erasing(position..<(position + 1), in: list) }, or: { $0 })
        }
    }

    @Test func theIdentityOfElementsDoesNotTellWhatAListLacks() throws {
        try expectEqual(
            try told(["bob", "cyd", "ada", "root"], "bob"), try told(["ada", "root", "cyd"], "cyd"))
    }

    private func members(_ world: RuledWorld) throws -> [String] {
        guard case .list(let members)? = try world.server.row(World.team(7))?.values[1] else { return [] }
        return members.compactMap { if case .link(.string(let key)) = $0 { key } else { nil } }
    }

    @Test(arguments: [false, true])
    func whoSeesAPartOfAListEditsItAndKeepsTheRest(isEdited: Bool) throws {
        let world = try listed()
        try world.observe("ada", "Team")
        if isEdited {
            try insert("bob", at: 1, by: "root", in: world)
            try erase(0, by: "root", in: world)
        }
        #expect(try members(world) == ["bob", "ada", "root", "cyd"])
        // Ada sees herself and root.
        try erase(1, by: "ada", in: world)
        #expect(try members(world) == ["bob", "ada", "cyd"])
        try insert("root", at: 0, by: "ada", in: world)
        #expect(try members(world) == ["bob", "root", "ada", "cyd"])
        #expect(world["ada"].rejections.isEmpty)
    }

    @Test func editsOfAPartThatWereMadeOfflineMeetTheWholeListAsItIsNow() throws {
        let world = try listed()
        try world.observe("ada", "Team")
        world.disconnect("ada")
        try erase(1, by: "ada", in: world)
        try insert("root", at: 0, by: "ada", in: world)
        try insert("bob", at: 4, by: "root", in: world)
        try erase(0, by: "root", in: world)
        #expect(try members(world) == ["ada", "root", "cyd", "bob"])
        world.connect("ada")
        #expect(try members(world) == ["root", "ada", "cyd", "bob"])
        let shown = try world["ada"].storage.row(World.team(7))?.values[1]
        #expect(shown == .list([.link(.string("root")), .link(.string("ada"))]))
    }

    @Test func aWindowByTheLengthOfAListFollowsWhatShows() throws {
        let world = try listed()
        let query = "Team WHERE members.@count > 1 SORT(id ASC) LIMIT(3)"
        try world.observe("ada", query)
        #expect(world["ada"].results[query]?.count == 1)
        try world.setTeam(7, ["ada", "bob", "cyd"])
        #expect(world["ada"].results[query]?.count == 0)
        try world.setTeam(7, ["ada", "root"])
        #expect(world["ada"].results[query]?.count == 1)
        try world.write("root") { try $0.delete(ObjectRef(World.ClassIndex.user, .string("root"))) }
        #expect(world["ada"].results[query]?.count == 0)
    }
}

/// Objects that a rule with a path hides without changing them, in the context that the reader has all along.
@Suite struct RuledPathTests {
    private typealias World = RuledWorld

    private func world(limits: DatabaseLimits = DatabaseLimits()) throws -> RuledWorld {
        let rules = RuledWorld.rules.replacing(
            "\"read\": \"isPublic == TRUE OR owner.id == $user.id OR team IN $user.teams OR $role.admin\"",
            with: "\"read\": \"id == 3 OR parent.isPublic == TRUE OR $role.admin\"")
        let world = try World(
            rules: rules, users: ["ada", "bob"], limits: limits,
            oracle: { world, user, object, row in
                guard object.classIndex == World.ClassIndex.document, user != "root" else { return true }
                guard case .link(let parent) = row.values[World.Field.parent] else { return object.key == .int(3) }
                return try world.server.row(ObjectRef(World.ClassIndex.document, parent))?
                    .values[World.Field.isPublic] == .bool(true)
            })
        try world.create(World.document(3, isPublic: true))
        for key in 10...17 as ClosedRange<Int64> { try world.create(World.document(key, "x", parent: 3)) }
        return world
    }

    @Test(arguments: ["Document", "Document EXCLUDE(parent)", "Document EXCLUDE(parent, owner, team)"])
    func whoComesBackLosesWhatAnotherObjectHasHidden(query: String) throws {
        let world = try world()
        try world.observe("ada", query)
        #expect(try world.held("ada").count == 9)
        world.disconnect("ada")
        try world.update("root", 3, World.Field.isPublic, .bool(false))
        world.connect("ada")
        #expect(try world.held("ada") == [3])
    }

    @Test(arguments: ["Document", "Document EXCLUDE(parent)"])
    func aPageThatOthersWereSentIsNotSentOnceItsObjectsAreHidden(query: String) throws {
        var limits = DatabaseLimits()
        limits.pageRowCount = 1
        let world = try world(limits: limits)
        try world.observe("ada", query)
        try world.update("root", 3, World.Field.isPublic, .bool(false))
        try world.observe("bob", query)
        #expect(try world.held("ada") == [3] && world.held("bob") == [3])
    }
}
