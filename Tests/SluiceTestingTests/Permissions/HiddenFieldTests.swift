import Sluice
import SluiceModel
import SluiceRules
import SluiceServer
import SluiceStorage
import SluiceViews
import SluiceWire
import Testing

/// Single properties that rules hide. ``RuledWorld`` judges every frame: no hidden property is in any of them.
@Suite struct HiddenFieldTests {
    private typealias World = RuledWorld

    /// Whoever is in team 1 is a grader.
    private static let grader = "\"grader\": \"Team WHERE id == 1 AND ANY members.id == $user.id\","

    /// Rules that hide properties of documents from all but graders.
    static func rules(fields: String) -> String {
        let rules = RuledWorld.rules
            .replacing("\"roles\": {", with: "\"roles\": {\(grader)")
            .replacing("\"reports\": \"$role.admin\"", with: "\"reports\": \"$user.id != NULL\"")
        let parts = rules.split(separator: "\"fields\": {", maxSplits: 1)
        return parts[0] + "\"fields\": {" + fields + "}}}}"
    }

    private static let grade = "\"grade\": {\"read\": \"$role.grader OR $role.admin\"}"

    /// Documents 1 and 2 of ada, 3 of all; graders are in team 1.
    private func world(
        _ users: [String] = ["ada", "bob"], fields: String = grade, hiding property: Int = World.Field.grade,
        graders: [String] = ["bob"], limits: DatabaseLimits = DatabaseLimits()
    ) throws -> RuledWorld {
        let world = try World(rules: Self.rules(fields: fields), users: users, limits: limits)
        world.hidden = { [unowned world] client in
            let mayRead = try client.user == "root" || world.isMember(client, of: .int(1))
            return mayRead ? [:] : [World.ClassIndex.document: [property]]
        }
        try world.setTeam(1, graders)
        try world.create(
            World.document(1, "a", owner: "ada", parent: 3, grade: 71), World.document(2, "b", owner: "ada", grade: 72),
            World.document(3, "c", isPublic: true, grade: 73))
        return world
    }

    private func row(_ world: RuledWorld, _ user: String, _ key: Int64) throws -> Row {
        try #require(try world[user].storage.row(World.document(key)))
    }

    /// The grade that a user's store has; nil if it is absent, and then nothing of it is left.
    private func grade(_ world: RuledWorld, _ user: String, _ key: Int64) throws -> Value? {
        let row = try row(world, user, key)
        guard row.absent.contains(World.Field.grade) else { return row.values[World.Field.grade] }
        #expect(row.values[World.Field.grade] == .int(0))
        return nil
    }

    private func refusals(_ world: RuledWorld, _ user: String) -> [ServerMessage.SubscriptionError] {
        world[user].frames.flatMap { $0 }.compactMap { message in
            if case .subscriptionError(let error) = message { error } else { nil }
        }
    }

    @Test(arguments: [
        "Document", "Document SORT(id ASC) LIMIT(3)", "Document DISTINCT(text)", "Document WHERE parent.id == 3",
        "Document EXCLUDE(grade)", "Document EXCLUDE(parent.grade)",
    ])
    func whatIsHiddenIsAbsentInPagesAndChanges(query: String) throws {
        let world = try world()
        try world.observe("ada", query)
        #expect(try grade(world, "ada", 1) == nil && row(world, "ada", 1).values[World.Field.text] == .string("a"))
        let count = world["ada"].frames.count
        try world.update("root", 1, World.Field.grade, .int(9))
        #expect(world["ada"].frames.count == count)
        try world.update("root", 1, World.Field.text, .string("new"))
        #expect(try grade(world, "ada", 1) == nil && row(world, "ada", 1).values[World.Field.text] == .string("new"))
    }

    @Test func whoMayReadThePropertyHasItBesideOneWhoMayNot() throws {
        let world = try world()
        for user in ["ada", "bob"] { try world.observe(user, "Document WHERE isPublic == TRUE") }
        try world.update("root", 3, World.Field.grade, .int(5))
        try world.write("root") { writer in
            for (field, value) in [(World.Field.grade, Value.int(6)), (World.Field.text, .string("both"))] {
                try writer.update(World.document(3), [FieldOperation(field, .set(value))])
            }
        }
        #expect(try grade(world, "bob", 3) == .int(6) && grade(world, "ada", 3) == nil)
    }

    @Test func theObjectAskedForByItsIdComesWithoutWhatIsHidden() throws {
        let world = try world()
        let id = Identity(className: "Document", key: .int(1)).objectID
        try world.observe("ada", "OBJECT(\(id))")
        #expect(try grade(world, "ada", 1) == nil && grade(world, "ada", 3) == nil)
    }

    private static let reading = [
        "Document WHERE grade > 2", "Document WHERE NOT grade > 2", "Document WHERE text == 'a' OR grade == 71",
        "Document SORT(grade ASC) LIMIT(2)", "Document SORT(grade ASC)", "Document DISTINCT(grade)",
        "Document LIMIT(2) SORT(grade DESC)", "Document WHERE parent.grade == 73", "Document WHERE grade == id",
        "Document SORT(parent.grade ASC) LIMIT(1)", "Document WHERE grade IN {71, 72}",
        "Document WHERE grade + 1 == 72",
        "User WHERE ANY @links.Document.owner.grade > 3", "User WHERE @links.Document.owner.@max.grade > 3",
        "User WHERE @links.Document.owner.@sum.grade == 143",
        "User WHERE SUBQUERY(@links.Document.owner, $d, $d.grade > 1).@count > 0",
        "Team WHERE SUBQUERY(@links.Document.team, $d, $d.parent.grade > 1).@count > 0",
    ]

    @Test(arguments: reading)
    func aQueryThatNamesWhatIsHiddenIsRefusedWhateverIsStored(query: String) throws {
        let world = try world()
        try world.observe("ada", query)
        #expect(world["ada"].errors[query] == .notPermitted)
        let first = try #require(refusals(world, "ada").first)
        #expect(first.code == .permissionDenied && first.message.contains("Document.grade") && first.position == nil)
        #expect(world["ada"].texts.isEmpty && world["ada"].results[query]?.isEmpty ?? true)

        let empty = try World(rules: Self.rules(fields: Self.grade), users: ["ada"])
        try empty.observe("ada", query)
        #expect(refusals(empty, "ada").first?.message == first.message)
        try world.observe("bob", query)
        #expect(world["bob"].errors[query] == nil)
    }

    @Test(arguments: reading)
    func anExplanationOfWhatIsHiddenIsRefused(query: String) throws {
        let world = try world()
        let session = try #require(world.session(of: "ada"))
        world.inject(
            .reportRequest(.init(session: session.session, request: 1, topic: .explain, argument: query)), from: session
        )
        let answer = try #require(world["ada"].frames.last?.last)
        guard case .reportError(let failure) = answer else { return #expect(Bool(false), "\(answer)") }
        #expect(failure.code == .permissionDenied && failure.message.contains("Document.grade"))
    }

    @Test(arguments: [
        "Document", "Document SORT(id ASC) LIMIT(2)", "Document DISTINCT(text)", "Document WHERE owner.id == 'ada'",
    ])
    func aRoleShowsAndHidesThePropertyInTheVersionThatChangesIt(query: String) throws {
        let world = try world()
        try world.observe("ada", query)
        try world.setTeam(1, ["ada"])
        let last = try #require(world["ada"].frames.last)
        #expect(last.contains { if case .context = $0 { true } else { false } })
        #expect(try grade(world, "ada", 1) == .int(71) && grade(world, "ada", 3) == .int(73))
        try world.update("root", 1, World.Field.grade, .int(9))
        #expect(try grade(world, "ada", 1) == .int(9))
        try world.setTeam(1, ["bob"])
        #expect(try grade(world, "ada", 1) == nil && grade(world, "ada", 3) == nil)
        #expect(try row(world, "ada", 1).values[World.Field.text] == .string("a"))
        let count = world["ada"].frames.count
        try world.update("root", 1, World.Field.grade, .int(10))
        #expect(world["ada"].frames.count == count)
    }

    @Test func aRoleThatChangesWithTheObjectsInOneTransactionLeavesNothingOfIt() throws {
        let world = try world(graders: ["ada"])
        try world.observe("ada", "Document SORT(id ASC) LIMIT(2)")
        try world.write("root") { writer in
            try writer.update(World.team(1), [FieldOperation(1, .set(.list([])))])
            try writer.update(World.document(1), [FieldOperation(World.Field.grade, .set(.int(99)))])
            try writer.update(World.document(2), [FieldOperation(World.Field.text, .set(.string("new")))])
        }
        #expect(try grade(world, "ada", 1) == nil && grade(world, "ada", 2) == nil)
        #expect(try row(world, "ada", 2).values[World.Field.text] == .string("new"))
        try world.write("root") { writer in
            try writer.update(World.team(1), [FieldOperation(1, .set(.list([.link(.string("ada"))])))])
            try writer.update(World.document(2), [FieldOperation(World.Field.grade, .set(.int(98)))])
        }
        #expect(try grade(world, "ada", 1) == .int(99) && grade(world, "ada", 2) == .int(98))
    }

    @Test func aBootstrapThatIsUnderWayGoesOnWithoutWhatIsHiddenNow() throws {
        var limits = DatabaseLimits()
        limits.pageRowCount = 1
        let world = try world(graders: ["ada"], limits: limits)
        world.sendsPages = false
        try world.observe("ada", "Document")
        world.step()
        world.step()
        try world.setTeam(1, [])
        try world.update("root", 1, World.Field.grade, .int(9))
        world.sendsPages = true
        world.settle()
        for key in 1...3 as ClosedRange<Int64> { #expect(try grade(world, "ada", key) == nil) }
    }

    @Test func aQueryByWhatIsHiddenNowEndsWithItsObjectsAndBeginsWhenItMayBeRead() throws {
        let world = try world(graders: ["ada"])
        let query = "Document WHERE grade > 71"
        try world.observe("ada", query)
        #expect(try world.held("ada") == [2, 3])
        try world.setTeam(1, [])
        #expect(world["ada"].errors[query] == .notPermitted && world["ada"].results[query] == [])
        #expect(try world.held("ada") == [])
        try world.update("root", 1, World.Field.grade, .int(99))
        #expect(try world.held("ada") == [])
        try world.setTeam(1, ["ada"])
        #expect(world["ada"].errors[query] == nil)
        #expect(try world.held("ada") == [1, 2, 3])
    }

    @Test(arguments: [true, false])
    func whoComesBackWithAnotherRoleHasExactlyWhatItShows(gains: Bool) throws {
        let world = try world(graders: gains ? [] : ["ada"])
        for query in ["Document", "Document SORT(id DESC) LIMIT(2)"] { try world.observe("ada", query) }
        world.disconnect("ada")
        try world.setTeam(1, gains ? ["ada"] : [])
        try world.update("root", 1, World.Field.grade, .int(9))
        try world.update("root", 2, World.Field.text, .string("new"))
        world.connect("ada")
        #expect(try grade(world, "ada", 1) == (gains ? .int(9) : nil))
        #expect(try grade(world, "ada", 3) == (gains ? .int(73) : nil))
        #expect(try row(world, "ada", 2).values[World.Field.text] == .string("new"))
    }

    @Test func aResumedSubscriptionTellsEachOfTwoUsersAtOneVersionWhatTheirRolesShow() throws {
        let world = try world()
        for user in ["ada", "bob"] {
            try world.observe(user, "Document WHERE isPublic == TRUE SORT(id ASC) LIMIT(5)")
            world.disconnect(user)
        }
        try world.write("root") { writer in
            for (field, value) in [(World.Field.grade, Value.int(6)), (World.Field.text, .string("both"))] {
                try writer.update(World.document(3), [FieldOperation(field, .set(value))])
            }
        }
        for user in ["bob", "ada"] { world.connect(user) }
        #expect(try grade(world, "bob", 3) == .int(6) && grade(world, "ada", 3) == nil)
        #expect(try row(world, "ada", 3).values[World.Field.text] == .string("both"))
    }

    @Test func aDormantMembershipKeepsNothingOfWhatIsHiddenAndGetsItBack() throws {
        let world = try world(graders: ["ada"])
        try world.observe("ada", "Document")
        try world.stop("ada", "Document")
        #expect(try grade(world, "ada", 1) == .int(71))
        try world.setTeam(1, [])
        #expect(try grade(world, "ada", 1) == nil)
        try world.observe("ada", "Document")
        #expect(try grade(world, "ada", 1) == nil)
        try world.stop("ada", "Document")
        try world.setTeam(1, ["ada"])
        try world.observe("ada", "Document")
        #expect(try grade(world, "ada", 1) == .int(71))
    }

    @Test func aDigestCoversOnlyWhatIsShown() throws {
        let world = try world()
        for user in ["ada", "bob"] {
            for query in ["Document WHERE isPublic == TRUE", "Document SORT(id ASC) LIMIT(2)"] {
                try world.observe(user, query)
            }
        }
        func digests(_ user: String) -> [ObjectID] {
            world[user].frames.flatMap { $0 }.compactMap { message in
                if case .digest(let check) = message { check.digest } else { nil }
            }
        }
        world.sendDigests()
        let (hidden, shown) = (Set(digests("ada")), Set(digests("bob")))
        #expect(hidden.count == 2 && !shown.isEmpty)
        try world.update("root", 3, World.Field.grade, .int(9))
        world["ada"].frames = []
        world["bob"].frames = []
        world.sendDigests()
        #expect(Set(digests("ada")) == hidden && Set(digests("bob")) != shown)
        for user in ["ada", "bob"] {
            let mismatches = world[user].frames.flatMap { $0 }.filter { if case .page = $0 { true } else { false } }
            #expect(mismatches.isEmpty, "\(user) differs from its digest")
        }
    }

    @Test func whoWritesWhatItMayNotReadIsNotToldTheResult() throws {
        let write = "\"grade\": {\"read\": \"$role.grader\", \"write\": \"owner.id == $user.id OR $role.admin\"}"
        let world = try world(fields: write)
        try world.observe("ada", "Document")
        try world.update("ada", 1, World.Field.grade, .int(5))
        #expect(try world.server.row(World.document(1))?.values[World.Field.grade] == .int(5))
        #expect(try grade(world, "ada", 1) == nil)
        try world.write("ada") {
            try $0.update(World.document(1), [FieldOperation(World.Field.grade, .add(.int(2)))])
        }
        #expect(try world.server.row(World.document(1))?.values[World.Field.grade] == .int(7))
        try world.write("ada") {
            try $0.insert(World.document(10, owner: "ada", grade: 4), ofClass: World.ClassIndex.document)
        }
        #expect(try world.server.row(World.document(10))?.values[World.Field.grade] == .int(4))
        #expect(try grade(world, "ada", 10) == nil && world["ada"].rejections.isEmpty)
    }

    @Test func whatIsHiddenIsNotWrittenWithoutARuleThatSaysSo() throws {
        let world = try world()
        try world.observe("ada", "Document")
        try world.update("ada", 1, World.Field.grade, .int(5))
        #expect(try world.server.row(World.document(1))?.values[World.Field.grade] == .int(71))
        #expect(world["ada"].rejections.count == 1)
        #expect(try grade(world, "ada", 1) == nil)
        try world.write("ada") { try $0.insert(World.document(10, owner: "ada"), ofClass: World.ClassIndex.document) }
        #expect(try world.server.row(World.document(10)) != nil)
        #expect(world["ada"].rejections.count == 1)
    }

    @Test func aRejectedWriteIsRevertedToWhatIsShown() throws {
        let world = try world()
        try world.observe("ada", "Document")
        try world.write("ada") { writer in
            try writer.update(World.document(3), [FieldOperation(World.Field.text, .set(.string("mine")))])
            try writer.update(World.document(3), [FieldOperation(World.Field.grade, .set(.int(1)))])
        }
        #expect(world["ada"].rejections.count == 1)
        #expect(try grade(world, "ada", 3) == nil && row(world, "ada", 3).values[World.Field.text] == .string("c"))
    }

    @Test func thePendingWritesOfAnObjectOutlastTheLossOfTheRole() throws {
        let world = try world(graders: ["ada"])
        try world.observe("ada", "Document")
        world.disconnect("ada")
        try world.update("ada", 1, World.Field.text, .string("mine"))
        try world.setTeam(1, [])
        world.connect("ada")
        #expect(try grade(world, "ada", 1) == nil && row(world, "ada", 1).values[World.Field.text] == .string("mine"))
        #expect(try world.server.row(World.document(1))?.values[World.Field.text] == .string("mine"))
    }

    @Test func theRefusalOfAnObjectThatIsTooLargeDoesNotTellTheSizeOfWhatIsHidden() throws {
        var limits = DatabaseLimits()
        limits.data.objectByteCount = 2_000
        let text = "\"text\": {\"read\": \"$role.grader OR $role.admin\"}, \"grade\": {\"write\": \"$role.admin\"}"
        let world = try world(fields: text, hiding: World.Field.text, limits: limits)
        try world.observe("ada", "Document")
        var messages: Set<String> = []
        for length in [1_200, 1_500] {
            try world.update("root", 1, World.Field.text, .string(String(repeating: "x", count: length)))
            try world.update("ada", 1, World.Field.owner, .link(.string(String(repeating: "k", count: 900))))
            messages.insert(try #require(world["ada"].rejections.last).reason.message)
        }
        #expect(messages == ["Document: more bytes of an object than the 2000 allowed"], "\(messages)")
    }

    @Test func aHiddenLinkIsNotFollowedCountedOrNamed() throws {
        let parent = "\"parent\": {\"read\": \"$role.grader OR $role.admin\"}"
        let world = try world(fields: parent, hiding: World.Field.parent)
        try world.observe("ada", "Document WHERE owner.id == 'ada'")
        #expect(try world.held("ada") == [1, 2])
        let refused = [
            "Document WHERE parent.id == 3", "Document WHERE parent == 3", "Document WHERE parent != NULL",
            "Document WHERE @links.@count > 0", "Document WHERE @links.Document.parent.@count > 0",
            "Document WHERE ANY @links.Document.parent.text == 'a'", "Document SORT(parent.text ASC) LIMIT(1)",
        ]
        for query in refused {
            try world.observe("ada", query)
            #expect(world["ada"].errors[query] == .notPermitted, "\(query)")
        }
        try world.setTeam(1, ["ada"])
        #expect(try world.held("ada") == [1, 2, 3])
        #expect(try row(world, "ada", 1).values[World.Field.parent] == .link(.int(3)))
        for query in refused { #expect(world["ada"].errors[query] == nil, "\(query)") }
        for query in refused { try world.stop("ada", query) }
        try world.setTeam(1, [])
        #expect(try row(world, "ada", 1).values[World.Field.parent] == .null)
        #expect(try world.held("ada") == [1, 2])
    }

    /// The list was made before its client knew of the property.
    @Test func whatIsUncoveredWhileMembersAreListedIsSent() throws {
        var limits = DatabaseLimits()
        limits.contextStepCountMax = 0
        let world = try world(limits: limits)
        try world.setTeam(7, [])
        try world.create(World.document(4, team: 7, grade: 74))
        try world.observe("ada", "Document")
        world["ada"].heldFrames = []
        try world.setTeam(7, ["ada"])
        #expect(world["ada"].heldFrames?.isEmpty == false)
        try world.setTeam(1, ["ada"])
        world.releaseFrames(of: "ada")
        #expect(try world.held("ada") == [1, 2, 3, 4])
        for key in Int64(1)...4 { #expect(try grade(world, "ada", key) == .int(70 + key), "\(key)") }
    }

    @Test func othersRulesThatAreDeployedHideThePropertyAtOnce() throws {
        let world = try World(users: ["ada"])
        try world.create(World.document(1, "a", owner: "ada", grade: 71))
        try world.observe("ada", "Document")
        #expect(try grade(world, "ada", 1) == .int(71))
        world.deploy(try RulesFile(Self.rules(fields: Self.grade)))
        #expect(try grade(world, "ada", 1) == nil)
        world.deploy(try RulesFile(RuledWorld.rules))
        #expect(try grade(world, "ada", 1) == .int(71))
    }
}
