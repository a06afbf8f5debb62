import Sluice
import SluiceJSON
import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

/// Users who are hidden from others write and send messages. ``RuledWorld`` judges every name in every frame.
@Suite struct HiddenAuthorTests {
    private typealias World = RuledWorld

    private static let users = ["ada", "bob", "cyd"]

    private func world(
        _ rules: String = World.hidingUsers(), veiled: Set<Int> = [World.ClassIndex.user]
    ) throws -> RuledWorld {
        let world = try World(
            rules: rules.replacing("\"reports\": \"$role.admin\"", with: "\"messages\": \"$user.id != NULL\""),
            users: Self.users)
        world.veiled = veiled
        try world.setTeam(7, ["ada", "bob"])
        for key in 1...2 as ClosedRange<Int64> { try world.create(World.document(key, owner: "bob", isPublic: true)) }
        for user in Self.users + ["root"] { try world.observe(user, "Document") }
        return world
    }

    /// Whom a user is told of in the messages since the last call: "?" is somebody.
    private func told(_ world: RuledWorld, _ user: String) -> [String] {
        defer { world[user].frames = [] }
        return world[user].frames.joined().flatMap { message -> [String] in
            switch message {
            case .commit(let commit): commit.blocks.flatMap(\.content.authors).map { $0.userID ?? "?" }
            case .message(let message): [message.userID ?? "?"]
            default: []
            }
        }
    }

    private func told(_ world: RuledWorld) -> [String: [String]] {
        Dictionary(uniqueKeysWithValues: (Self.users + ["root"]).map { ($0, told(world, $0)) })
    }

    @Test func whoMayNotReadAUserIsNotToldThatTheUserHasWritten() throws {
        let world = try world()
        _ = told(world)
        try world.update("bob", 1, World.Field.text, .string("by bob"))
        #expect(told(world) == ["ada": ["bob"], "bob": ["bob"], "cyd": ["?"], "root": ["bob"]])
        try world.setTeam(7, ["bob", "cyd"])
        _ = told(world)
        try world.update("bob", 1, World.Field.text, .string("by bob again"))
        #expect(told(world) == ["ada": ["?"], "bob": ["bob"], "cyd": ["bob"], "root": ["bob"]])
    }

    @Test func aUserWithoutAnObjectIsAsHiddenAsOneWhoseObjectIsHidden() throws {
        let world = try world()
        try world.setTeam(7, ["ada", "root"])
        _ = told(world)
        try world.update("root", 1, World.Field.text, .string("by root"))
        #expect(told(world) == ["ada": ["root"], "bob": ["?"], "cyd": ["?"], "root": ["root"]])
        try world.write("root") { try $0.delete(ObjectRef(World.ClassIndex.user, .string("root"))) }
        _ = told(world)
        try world.update("root", 1, World.Field.text, .string("by root again"))
        #expect(told(world) == ["ada": ["?"], "bob": ["?"], "cyd": ["?"], "root": ["root"]])
    }

    @Test func eachAuthorIsNamedToThoseAloneWhoMayReadThatAuthor() throws {
        let world = try world()
        _ = told(world)
        try world.update("root", 2, World.Field.text, .string("by root"))
        try world.update("bob", 2, World.Field.text, .string("by bob"))
        #expect(told(world, "ada") == ["?", "bob"])
        #expect(told(world, "cyd") == ["?", "?"])
    }

    @Test func aMessageNamesItsSenderToThoseAloneWhoMayReadTheSender() throws {
        let world = try world()
        for (number, user) in (Self.users + ["root"]).enumerated() {
            let session = try #require(world.session(of: user))
            world.inject(
                .listen(.init(session: session.session, request: UInt64(900 + number), topics: ["room"])),
                from: session)
        }
        _ = told(world)
        let bob = try #require(world.session(of: "bob"))
        world.inject(
            .message(.init(session: bob.session, request: 950, topic: "room", payload: Array("hello".utf8))),
            from: bob)
        #expect(told(world) == ["ada": ["bob"], "bob": [], "cyd": ["?"], "root": ["bob"]])
    }

    @Test func whereRulesHideNoUsersEverybodyIsToldWhoHasWritten() throws {
        let hiding = World.rules.replacing("\"Document\": {", with: "\"Document\": {\"hideIdentity\": true, ")
            .replacing("\"Team\": {", with: "\"Team\": {\"hideIdentity\": true, ")
        for rules in [World.rules, hiding] {
            let world = try world(rules, veiled: [])
            _ = told(world)
            try world.update("bob", 1, World.Field.text, .string("by bob"))
            #expect(told(world) == ["ada": ["bob"], "bob": ["bob"], "cyd": ["bob"], "root": ["bob"]])
        }
    }

    @Test func otherClaimsHoldInTheSessionThatIsOpen() throws {
        let world = try world()
        world.renew("cyd", claims: .object([.init(name: "role", value: .string("admin"))]))
        _ = told(world)
        try world.update("bob", 1, World.Field.text, .string("by bob"))
        #expect(told(world, "cyd") == ["bob"])
        world.renew("cyd", claims: .object([]))
        _ = told(world)
        try world.update("bob", 1, World.Field.text, .string("by bob again"))
        #expect(told(world, "cyd") == ["?"])
    }
}
