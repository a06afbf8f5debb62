import Sluice
import SluiceJSON
import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

/// Group 18 of the cases: the tests that Realm has of its permissions on objects, row by row. A Post is readable by the
/// roles that its list of permissions names.
@Suite struct RealmRowTests {
    private typealias World = RuledWorld

    private static let rules = """
        {"roles": {"admin": "$user.claims.role == 'admin'"},
         "classes": {
          "User": {"read": true, "create": "$role.admin"}, "Role": {"read": true, "create": "$role.admin"},
          "Permission": {"read": true, "create": true},
          "Document": {"read": true, "create": true, "update": "isPublic == TRUE", "delete": "isPublic == TRUE"},
          "Team": {"read": "$role.admin", "create": "$role.admin", "update": "$role.admin"},
          "Post": {"read": {"objectList": "permissions"}, "create": "$role.admin OR permissions.@count > 0",
                   "update": {"objectList": "permissions"}, "delete": {"objectList": "permissions"}}}}
        """

    /// What a list of permissions gives, read naively.
    private static func isAllowed(_ right: Int, _ world: RuledWorld, _ user: String, _ row: Row) throws -> Bool {
        guard case .list(let links) = row.values[2] else { return false }
        return try links.contains { link in
            guard case .link(let key) = link,
                let permission = try world.server.row(ObjectRef(World.ClassIndex.permission, key)),
                permission.values[right] == .bool(true), case .link(let roleKey) = permission.values[1],
                let role = try world.server.row(ObjectRef(World.ClassIndex.role, roleKey)),
                case .list(let members) = role.values[1]
            else { return false }
            return roleKey == .string("everyone") || members.contains(.link(.string(user)))
        }
    }

    /// `bob` is in the role "foo". Permission 1 lets its members read, 2 read and update, 3 read, update and delete, and 4
    /// lets everyone read.
    private func world() throws -> RuledWorld {
        let world = try World(rules: Self.rules, users: ["ada", "bob"]) { world, user, object, row in
            switch object.classIndex {
            case World.ClassIndex.post: try Self.isAllowed(2, world, user, row)
            case World.ClassIndex.team: user == "root"
            default: true
            }
        }
        try world.write("root") { writer in
            for role in [World.role("foo", members: ["bob"]), World.role("everyone", members: [])] {
                try writer.insert(role, ofClass: World.ClassIndex.role)
            }
            let rights: [(Int64, String, Set<String>)] = [
                (1, "foo", ["read"]), (2, "foo", ["read", "update"]), (3, "foo", ["read", "update", "delete"]),
                (4, "everyone", ["read"]),
            ]
            for (key, role, rights) in rights {
                try writer.insert(
                    World.permission(key, role: role, rights), ofClass: World.ClassIndex.permission)
            }
        }
        for user in ["ada", "bob"] { try world.observe(user, "Post") }
        return world
    }

    private func posts(_ world: RuledWorld, _ user: String) -> [Int64] {
        (world[user].results["Post"] ?? []).compactMap { if case .int(let key) = $0.key { key } else { nil } }.sorted()
    }

    /// P54, `testObjectSetPermissions`: the creator grants only the role "foo" reading; the creator's own count goes from
    /// 1 to 0, and a member of "foo" sees 1.
    @Test func whoGrantsReadingToOthersAloneLosesTheObject() throws {
        let world = try world()
        world.disconnect("ada")
        try world.write("ada") { writer in
            try writer.insert(World.post(1, "mine", permissions: [1]), ofClass: World.ClassIndex.post)
        }
        #expect(posts(world, "ada") == [1])
        world.connect("ada")
        #expect(posts(world, "ada") == [] && posts(world, "bob") == [1])
        #expect(world["ada"].rejections.isEmpty)
    }

    /// P54: as soon as the list names somebody, nobody else has access; an empty list is nobody's.
    @Test func aListDecidesAloneWhoReads() throws {
        let world = try world()
        try world.write("root") { writer in
            try writer.insert(World.post(1, "nobody's", permissions: []), ofClass: World.ClassIndex.post)
            try writer.insert(World.post(2, "everyone's", permissions: [4]), ofClass: World.ClassIndex.post)
            try writer.insert(World.post(3, "foo's", permissions: [1]), ofClass: World.ClassIndex.post)
        }
        #expect(posts(world, "ada") == [2] && posts(world, "bob") == [2, 3])
    }

    /// P55: rights are the union over all of the user's roles.
    @Test func rightsOfSeveralRolesAddUp() throws {
        let world = try world()
        try world.write("root") { writer in
            try writer.insert(World.post(1, "old", permissions: [4, 2]), ofClass: World.ClassIndex.post)
        }
        for user in ["ada", "bob"] {
            try world.write(user) { writer in
                try writer.update(World.post(1), [FieldOperation(1, .set(.string("of \(user)")))])
            }
        }
        #expect(try world.server.row(World.post(1))?.values[1] == .string("of bob"))
        #expect(world["ada"].rejections.count == 1 && world["bob"].rejections.isEmpty)
    }

    /// P56, `testClassUpdate`: a value goes back after the server has refused it.
    @Test func withoutUpdateAValueGoesBack() throws {
        let world = try world()
        try world.write("root") { writer in
            try writer.insert(World.post(1, "new value", permissions: [1]), ofClass: World.ClassIndex.post)
        }
        world.disconnect("bob")
        try world.write("bob") { writer in
            try writer.update(World.post(1), [FieldOperation(1, .set(.string("new value 2")))])
        }
        #expect(try world["bob"].storage.row(World.post(1))?.values[1] == .string("new value 2"))
        world.connect("bob")
        #expect(try world["bob"].storage.row(World.post(1))?.values[1] == .string("new value"))
    }

    /// P57: three objects become six, and three again after the server's answer.
    @Test func withoutCreateObjectsGoAgain() throws {
        let world = try world()
        try world.write("root") { writer in
            for key in 1...3 as ClosedRange<Int64> {
                try writer.insert(World.post(key, "", permissions: [4]), ofClass: World.ClassIndex.post)
            }
        }
        world.disconnect("ada")
        for key in 4...6 as ClosedRange<Int64> {
            try world.write("ada") { writer in
                try writer.insert(World.post(key, "", permissions: []), ofClass: World.ClassIndex.post)
            }
        }
        #expect(posts(world, "ada") == [1, 2, 3, 4, 5, 6])
        world.connect("ada")
        #expect(posts(world, "ada") == [1, 2, 3] && world["ada"].rejections.count == 3)
    }

    /// P58: an object is gone, and there again after the server's answer.
    @Test(arguments: [(2, true), (3, false)] as [(Int64, Bool)])
    func withoutDeleteAnObjectComesBack(permission: Int64, comesBack: Bool) throws {
        let world = try world()
        try world.write("root") { writer in
            try writer.insert(World.post(1, "", permissions: [permission]), ofClass: World.ClassIndex.post)
        }
        world.disconnect("bob")
        try world.write("bob") { try $0.delete(World.post(1)) }
        #expect(posts(world, "bob") == [])
        world.connect("bob")
        #expect(posts(world, "bob") == (comesBack ? [1] : []))
    }

    /// P59: a query for what may not be read is empty, and no error.
    @Test func withoutReadAQueryIsEmptyAndNoError() throws {
        let world = try world()
        try world.setTeam(7, ["ada"])
        try world.observe("ada", "Team")
        #expect(world["ada"].results["Team"] == [])
        let messages = world["ada"].frames.joined()
        #expect(!messages.contains { if case .subscriptionError = $0 { true } else { false } })
    }

    /// P62: who is in a role is decided by the rules of the role.
    @Test func nobodyJoinsARoleWithoutTheRightToChangeIt() throws {
        let world = try world()
        try world.observe("ada", "Role")
        try world.write("ada") { writer in
            let role = ObjectRef(World.ClassIndex.role, .string("foo"))
            try writer.update(role, [FieldOperation(1, .set(.list([.link(.string("ada"))])))])
        }
        #expect(world["ada"].rejections.count == 1)
        #expect(
            try world.server.row(ObjectRef(World.ClassIndex.role, .string("foo")))?.values[1]
                == .list([.link(.string("bob"))]))
    }

    /// P64: objects that are written without a subscription are uploaded, and come back with a subscription.
    @Test func whatIsWrittenWithoutASubscriptionIsUploadedAndFoundByOne() throws {
        let world = try world()
        for key in 1...3 as ClosedRange<Int64> {
            try world.write("ada") { try $0.insert(World.document(key), ofClass: World.ClassIndex.document) }
        }
        try world["ada"].engine.purgeUnsubscribed()
        #expect(try world.held("ada") == [])
        try world.observe("ada", "Document")
        #expect(try world.held("ada") == [1, 2, 3])
    }
}

/// P61: what a readable object links to is readable too.
@Suite struct TransitiveReadTests {
    private typealias World = RuledWorld

    @Test func whatAReadableObjectLinksToIsReadableAndGoesWithTheLink() throws {
        let rules = """
            {"roles": {"admin": "$user.claims.role == 'admin'"},
             "classes": {
              "User": {"read": true, "create": "$role.admin"},
              "Team": {"read": "$role.admin", "transitive": true, "create": "$role.admin", "update": "$role.admin"},
              "Document": {"read": "isPublic == TRUE OR $role.admin", "create": "$role.admin",
                           "update": "$role.admin"}}}
            """
        let world = try World(rules: rules, users: ["ada"]) { world, user, object, row in
            if user == "root" || object.classIndex == World.ClassIndex.user { return true }
            if object.classIndex == World.ClassIndex.document { return row.values[World.Field.isPublic] == .bool(true) }
            var isLinked = false
            try world.server.forEachRow(ofClass: World.ClassIndex.document) { document in
                isLinked =
                    isLinked
                    || document.values[World.Field.team] == .link(row.key)
                        && document.values[World.Field.isPublic] == .bool(true)
                return true
            }
            return isLinked
        }
        try world.setTeam(7, [])
        try world.setTeam(8, [])
        try world.create(World.document(1, team: 7, isPublic: true), World.document(2, team: 8))
        try world.observe("ada", "Team")
        #expect(world["ada"].results["Team"]?.map(\.key) == [.int(7)])
        try world.write("ada") { try $0.delete(World.team(7)) }
        #expect(world["ada"].results["Team"]?.map(\.key) == [.int(7)])
        try world.update("root", 1, World.Field.team, .null)
        #expect(world["ada"].results["Team"] == [])
        #expect(try world["ada"].storage.row(World.team(7)) == nil)
    }

    /// Who may not read a property would see by what it leads to what it is.
    @Test(arguments: ["$role.staff", "$user.claims.role IN {'admin', 'staff'}", "ANY Team.members.id == $user.id"])
    func aHiddenLinkMakesNothingReadable(reader: String) throws {
        let rules = """
            {"roles": {"admin": "$user.claims.role == 'admin'", "staff": "$role.admin OR $user.claims.role == 'staff'"},
             "classes": {
              "User": {"read": true, "create": "$role.admin"},
              "Team": {"read": "$role.admin", "transitive": true, "create": "$role.admin", "update": "$role.admin"},
              "Document": {"read": true, "create": "$role.admin", "update": "$role.admin",
                           "fields": {"team": {"read": "\(reader)", "write": "$role.admin"}}}}}
            """
        func reads(_ client: RuledWorld.Client) -> Bool {
            switch reader {
            case "ANY Team.members.id == $user.id": client.user == "bob"
            default: client.claims["role"] != nil
            }
        }
        let world = try World(rules: rules, users: ["ada", "bob"]) { world, user, object, _ in
            guard object.classIndex == World.ClassIndex.team, user != "root" else { return true }
            return reads(world[user]) && !reader.hasPrefix("ANY")
        }
        world.hidden = { reads($0) ? [:] : [World.ClassIndex.document: [World.Field.team]] }
        try world.setTeam(7, ["bob"])
        try world.create(World.document(1, team: 7))
        for query in ["Team", "Document"] { try world.observe("ada", query) }
        #expect(world["ada"].results["Team"] == [] && world["ada"].results["Document"]?.count == 1)
        world.renew("ada", claims: .object([.init(name: "role", value: .string("staff"))]))
        let isShown = !reader.hasPrefix("ANY")
        #expect(world["ada"].results["Team"]?.count == (isShown ? 1 : 0))
        world.renew("ada", claims: .object([]))
        #expect(world["ada"].results["Team"] == [])
        // A rule that asks for objects itself passes nothing on.
        try world.observe("bob", "Team")
        #expect(world["bob"].results["Team"] == [])
    }
}
