import SluiceJSON
import SluiceModel
import SluiceQuery
import Testing

@testable import SluiceRules

/// What variables stand for, with and without values.
@Suite struct VariableTests {
    /// A rule on documents, a user, and the documents that the user may read: of `own` (owned by ada, salary 5, channel
    /// a), `team` (of the team T1, to which ada belongs) and `public`.
    struct Case: Sendable, CustomTestStringConvertible {
        let rule: String
        let user: String?
        let claims: String
        let client: ClientVariables
        let allowed: [String]

        init(
            _ rule: String, _ user: String? = "ada", claims: String = "{}", client: ClientVariables = [:],
            allows allowed: [String]
        ) {
            self.rule = rule
            self.user = user
            self.claims = claims
            self.client = client
            self.allowed = allowed
        }

        var testDescription: String { "\(rule) for \(user ?? "nobody") \(claims)" }
    }

    private static let all = ["own", "public", "team"]

    static let cases: [Case] = [
        Case("owner.id == $user.id", allows: ["own"]),
        Case("owner == $user.id", allows: ["own"]),
        Case("owner.id == $user.id", "bob", allows: []),
        // A variable without a value never matches, under NOT too.
        Case("owner.id == $user.id", nil, allows: []),
        Case("NOT owner.id == $user.id", nil, allows: []),
        Case("owner.id != $user.id", nil, allows: []),
        Case("NOT (owner.id == $user.id AND public == TRUE)", nil, allows: ["own", "team"]),
        Case("NOT NOT owner.id == $user.id", nil, allows: []),
        Case("SUBQUERY(team.members, $m, $m.id == $user.id).@count == 0", nil, allows: []),
        Case("SUBQUERY(team.members, $m, $m.id == $user.id).@count == 0", allows: ["own", "public"]),
        Case("NOT SUBQUERY(team.members, $m, $m.id == $user.id).@count > 0", nil, allows: []),
        Case("NONE team.members.id == $user.id", nil, allows: []),
        Case("ALL channels IN $user.claims.channels", allows: []),
        // Comparing with NULL asks whether there is a value.
        Case("$user.id == NULL AND public == TRUE", nil, allows: ["public"]),
        Case("$user.id == NULL", allows: []),
        Case("$user.id != NULL", allows: all),
        Case("NOT $user.id == NULL", allows: all),
        Case("$user.claims.level == NULL", claims: #"{"level": null}"#, allows: all),
        Case("$user.claims.level != NULL", claims: #"{"level": 1}"#, allows: all),
        Case("SUBQUERY(team.members, $m, $user.id == NULL).@count > 0", nil, allows: ["team"]),
        // Claims.
        Case("salary >= $user.claims.level", claims: #"{"level": 5}"#, allows: ["own"]),
        Case("salary >= $user.claims.level", claims: #"{"level": 4.5}"#, allows: ["own"]),
        Case("salary >= $user.claims.level", claims: #"{"level": "5"}"#, allows: ["own"]),
        Case("salary >= $user.claims.level", claims: #"{"level": "high"}"#, allows: []),
        Case("NOT salary >= $user.claims.level", claims: #"{"level": "high"}"#, allows: []),
        Case("NOT salary >= $user.claims.level", claims: #"{"level": {"a": 1}}"#, allows: []),
        Case("public == TRUE OR salary > $user.claims.level", claims: #"{"level": true}"#, allows: ["public"]),
        Case("salary == $user.claims.a.b", claims: #"{"a": {"b": 5}}"#, allows: ["own"]),
        Case("salary == $user.claims.a['x y']", claims: #"{"a": {"x y": 5}}"#, allows: ["own"]),
        Case("salary == $user.claims['https://x.example/n']", claims: #"{"https://x.example/n": 5}"#, allows: ["own"]),
        Case("salary == $user.claims.a.b", claims: #"{"a": 5}"#, allows: []),
        Case("id IN $user.claims.ids", claims: #"{"ids": ["own", "team"]}"#, allows: ["own", "team"]),
        Case("id IN $user.claims.ids", claims: #"{"ids": []}"#, allows: []),
        Case("NOT id IN $user.claims.ids", claims: #"{"ids": []}"#, allows: all),
        Case("NOT id IN $user.claims.ids", claims: #"{"ids": ["own", {"a": 1}]}"#, allows: []),
        Case("id IN {'own', $user.claims.other}", claims: #"{"other": "team"}"#, allows: ["own", "team"]),
        Case("id IN {'own', $user.claims.other}", allows: []),
        Case("ANY channels IN $user.claims.channels", claims: #"{"channels": ["a", "z"]}"#, allows: ["own"]),
        Case("ANY channels == ANY $user.claims.channels", claims: #"{"channels": ["a", "z"]}"#, allows: ["own"]),
        Case("owner.name BEGINSWITH $user.claims.prefix", claims: #"{"prefix": "A"}"#, allows: ["own"]),
        Case("$user.claims.admin", claims: #"{"admin": true}"#, allows: all),
        Case("$user.claims.admin", claims: #"{"admin": "true"}"#, allows: []),
        Case("NOT $user.claims.admin", claims: #"{"admin": 7}"#, allows: []),
        Case("$user.claims.role IN {'a', 'b'}", claims: #"{"role": "b"}"#, allows: all),
        Case("'b' IN $user.claims.roles", claims: #"{"roles": ["a", "b"]}"#, allows: all),
        Case("'c' IN $user.claims.roles", claims: #"{"roles": ["a", "b"]}"#, allows: []),
        Case("$user.id IN $user.claims.friends", claims: #"{"friends": ["ada"]}"#, allows: all),
        Case("$user.claims.level BETWEEN {1, 3}", claims: #"{"level": 2}"#, allows: all),
        Case("$user.claims.email ENDSWITH[c] '@x.example'", claims: #"{"email": "ada@X.example"}"#, allows: all),
        // Derived sets and roles.
        Case("team IN $user.teams", allows: ["team"]),
        Case("team.id IN $user.teams", allows: ["team"]),
        Case("NOT team IN $user.teams", allows: ["own", "public"]),
        Case("team IN $user.teams", "bob", allows: []),
        Case("team IN $user.teams", nil, allows: []),
        Case("owner IN $user.teams", allows: []),
        Case("NOT owner IN $user.teams", allows: []),
        Case("$role.member", allows: all),
        Case("$role.member == FALSE", allows: []),
        Case("$role.member", "bob", allows: []),
        Case("NOT $role.member AND public == TRUE", "bob", allows: ["public"]),
        Case("$role.admin", claims: #"{"role": "admin"}"#, allows: all),
        Case("$role.admin OR public == TRUE", claims: #"{"role": "clerk"}"#, allows: ["public"]),
        Case("NOT $role.admin", allows: all),
        Case("$role.both", claims: #"{"role": "admin"}"#, allows: all),
        Case("$role.both", "bob", claims: #"{"role": "admin"}"#, allows: []),
        Case("$role.any", allows: all),
        // What the client has chosen.
        Case("public == TRUE AND id == $client.id", client: ["id": .string("public")], allows: ["public"]),
        Case("public == TRUE AND id == $client.id", client: ["id": .string("own")], allows: []),
        Case("TRUEPREDICATE AND id IN $client.ids", client: ["ids": .list([.string("own")])], allows: ["own"]),
        Case("TRUEPREDICATE AND NOT id IN $client.ids", allows: []),
        Case("TRUEPREDICATE AND id IN $client.ids", client: ["ids": .list([.null])], allows: []),
        Case("TRUEPREDICATE AND ($client.id == NULL OR id == $client.id)", allows: all),
    ]

    @Test(arguments: cases) func aRuleAllowsWhatItsValuesSay(_ expected: Case) throws {
        let world = RulesWorld()
        world.add("User", .string("ada"), ["name": .string("Ada")])
        world.add("Team", .string("T1"), ["members": .list([.link(.string("ada"))])])
        world.add(
            "Document", .string("own"),
            ["owner": .link(.string("ada")), "salary": .int(5), "channels": .list([.string("a")])])
        world.add("Document", .string("team"), ["team": .link(.string("T1")), "channels": .list([.string("b")])])
        world.add("Document", .string("public"), ["public": .bool(true), "channels": .list([.string("c")])])
        let rule = expected.rule.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        let rules = try Rules(
            """
            {"user": {"teams": "Team WHERE ANY members.id == $user.id"},
             "roles": {"admin": "$user.claims.role == 'admin'", "member": "ANY Team.members.id == $user.id",
                       "both": "$role.admin AND $role.member", "any": "Team WHERE ANY members.id == $user.id"},
             "classes": {"Document": {"read": "\(rule)"}}}
            """)
        let binding = try world.bind(
            rules, RuleUser(expected.user, expected.claims), client: expected.client)
        let condition = binding.condition(of: .read, onClass: RulesWorld.index("Document"))
        #expect(try world.allowed(condition, "Document") == expected.allowed, "\(condition?.text ?? "")")
        #expect(binding.isComplete)
        #expect(rules.file.problems(with: RulesWorld.schema).isEmpty || expected.rule.contains("owner IN"))
    }

    @Test func whatIsNotKnownYetAllowsNothingUnderNOTToo() throws {
        let rules = try Rules(
            #"""
            {"user": {"teams": "Team WHERE ANY members.id == $user.id"},
             "roles": {"banned": "ANY Team.members.id == $user.id"},
             "classes": {"Document": {"read": "NOT $role.banned", "create": "NOT team IN $user.teams"}}}
            """#)
        let binding = rules.bind(RuleUser(id: "ada"))
        #expect(!binding.isComplete)
        #expect(binding.condition(of: .read, onClass: RulesWorld.index("Document"))?.isNever == true)
        #expect(binding.condition(of: .create, onClass: RulesWorld.index("Document"))?.isNever == true)
    }

    @Test func aClientsQueryHasNoVariables() throws {
        for text in ["User WHERE id == $user.id", "User WHERE $role.admin", "User WHERE id IN {$client.x}"] {
            let error = #expect(throws: QueryError.self) { try Query.parse(text, schema: RulesWorld.schema) }
            #expect(error?.message.contains("only rules have '$") == true, "\(error?.message ?? "")")
        }
    }

    @Test func anUnreplacedVariableIsRefusedByTheChecker() throws {
        for text in ["User WHERE id == $user.id", "User WHERE id IN {$user.id}", "Team WHERE $role.x"] {
            let syntax = try QuerySyntax.parse(ruleText: text)
            #expect(throws: QueryError.self) { try Query(syntax, schema: RulesWorld.schema) }
        }
    }
}
