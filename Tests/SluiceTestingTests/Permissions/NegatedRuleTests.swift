import Sluice
import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

/// Group 9 of the cases: rules see everything, so what is hidden from a user cannot turn a negation in a rule true.
@Suite struct NegatedRuleTests {
    private typealias World = RuledWorld

    private func world(
        read: String, _ mayRead: @escaping (RuledWorld, Row) throws -> Bool
    ) throws -> RuledWorld {
        let rules = """
            {"roles": {"admin": "$user.claims.role == 'admin'"},
             "classes": {"User": {"read": true, "create": "$role.admin"},
                         "Document": {"read": "$role.admin OR (\(read))", "create": "$role.admin",
                                      "update": "$role.admin", "delete": "$role.admin"}}}
            """
        return try World(rules: rules, users: ["ada"]) { world, user, object, row in
            try object.classIndex == World.ClassIndex.user || user == "root" || mayRead(world, row)
        }
    }

    private func parent(_ world: RuledWorld, _ row: Row) throws -> Row? {
        guard case .link(let key) = row.values[World.Field.parent] else { return nil }
        return try world.server.row(ObjectRef(World.ClassIndex.document, key))
    }

    @Test func aHiddenParentThatForbidsStillForbids() throws {
        let world = try world(read: "isPublic == TRUE AND NOT parent.text == 'closed'") { world, row in
            try row.values[World.Field.isPublic] == .bool(true)
                && self.parent(world, row)?.values[World.Field.text] != .string("closed")
        }
        try world.create(
            World.document(1, parent: 2, isPublic: true), World.document(2, "closed"),
            World.document(3, parent: 4, isPublic: true), World.document(4, "open"))
        try world.observe("ada", "Document")
        #expect(try world.held("ada") == [3])
        try world.update("root", 2, World.Field.text, .string("open"))
        #expect(try world.held("ada") == [1, 3])
        try world.update("root", 4, World.Field.text, .string("closed"))
        #expect(try world.held("ada") == [1])
        #expect(world["ada"].removals[.int(3)] == .permission)
    }

    @Test(arguments: [
        "NONE @links.Document.parent.text == 'veto'",
        "SUBQUERY(@links.Document.parent, $d, $d.text == 'veto').@count == 0",
        "NOT ANY @links.Document.parent.text == 'veto'",
    ])
    func aHiddenVetoCounts(condition: String) throws {
        let world = try world(read: "isPublic == TRUE AND \(condition)") { world, row in
            var isVetoed = false
            try world.server.forEachRow(ofClass: World.ClassIndex.document) { other in
                isVetoed =
                    isVetoed
                    || other.values[World.Field.parent] == .link(row.key)
                        && other.values[World.Field.text] == .string("veto")
                return true
            }
            return row.values[World.Field.isPublic] == .bool(true) && !isVetoed
        }
        try world.create(World.document(1, isPublic: true), World.document(2, isPublic: true))
        try world.observe("ada", "Document")
        #expect(try world.held("ada") == [1, 2])
        try world.create(World.document(9, "veto", parent: 1))
        #expect(try world.held("ada") == [2])
        #expect(world["ada"].removals[.int(1)] == .permission)
        try world.write("root") { try $0.delete(World.document(9)) }
        #expect(try world.held("ada") == [1, 2])
    }

    @Test func aVariableWithoutAValueDoesNotMatchUnderNot() throws {
        let world = try world(read: "NOT text == $user.claims.banned") { _, _ in false }
        try world.create(World.document(1, "a"), World.document(2, "b"))
        try world.observe("ada", "Document")
        #expect(try world.held("ada") == [])
    }

    /// What hides an object may come with the object itself: nobody is told of it then.
    @Test(arguments: [true, false]) func anObjectThatHidesItselfAsItComesIsNotTold(isHeld: Bool) throws {
        let rules = """
            {"user": {"own": "Document WHERE owner.id == $user.id"},
             "roles": {"admin": "$user.claims.role == 'admin'"},
             "classes": {"User": {"read": true, "create": "$role.admin"},
                         "Document": {"read": "$role.admin OR NOT id IN $user.own", "create": "$role.admin",
                                      "update": "$role.admin", "delete": "$role.admin"}}}
            """
        let world = try World(rules: rules, users: ["ada", "bob"]) { world, user, object, row in
            object.classIndex == World.ClassIndex.user || user == "root"
                || row.values[World.Field.owner] != .link(.string(user))
        }
        try world.create(World.document(1), World.document(2))
        world.sendsPages = isHeld
        // Both have the same rights at first, and so the same view and the same pages.
        for user in ["bob", "ada"] { try world.observe(user, "Document") }
        try world.create(World.document(3, owner: "ada"), World.document(4))
        world.sendsPages = true
        try world.create(World.document(5))
        #expect(try world.held("ada") == [1, 2, 4, 5])
        let departures = world["ada"].frames.joined().flatMap { message -> [ViewBlock.Departure] in
            switch message {
            case .page(let page): page.content.departures
            case .commit(let commit): commit.blocks.flatMap(\.content.departures)
            default: []
            }
        }
        #expect(!departures.map(\.object.key).contains(.int(3)))
    }
}
