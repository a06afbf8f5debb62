import SluiceJSON
import SluiceModel
import SluiceQuery
import Testing

@testable import SluiceRules

/// A rules file becomes what one user may do.
@Suite struct BindingTests {
    static let schema: Schema = {
        guard
            let schema = try? Schema([
                ClassSchema(
                    "User", primaryKey: "id",
                    properties: [Property("id", .scalar(.string)), Property("name", .scalar(.string))]),
                ClassSchema(
                    "Team", primaryKey: "id",
                    properties: [
                        Property("id", .scalar(.string)),
                        Property("members", PropertyType(.link("User"), container: .list)),
                    ]),
                ClassSchema(
                    "Document", primaryKey: "id",
                    properties: [
                        Property("id", .scalar(.string)), Property("public", .scalar(.bool)),
                        Property("owner", .link("User")), Property("team", .link("Team")),
                        Property("salary", .scalar(.int)),
                    ]),
                ClassSchema("Secret", primaryKey: "id", properties: [Property("id", .scalar(.string))]),
            ])
        else { preconditionFailure("the schema is wrong") }
        return schema
    }()

    private static let text = """
        {"user": {"teams": "Team WHERE ANY members.id == $user.id"},
         "roles": {"admin": "$user.claims.role == 'admin'", "editor": "ANY Team.members.id == $user.id"},
         "database": {"schema": "$role.admin"},
         "classes": {
           "Document": {"read": "public == TRUE OR owner.id == $user.id OR team IN $user.teams",
                        "create": "owner.id == $user.id", "update": "owner.id == $user.id", "delete": "$role.admin",
                        "fields": {"salary": {"read": "$role.admin", "write": "$role.admin"}}}}}
        """

    @Test func aUsersBindingHasTheValuesInPlaceOfTheVariables() throws {
        let rules = Rules(try RulesFile(Self.text), schema: Self.schema)
        let user = RuleUser(id: "ada")
        let facts = rules.facts(of: user)
        #expect(
            facts.map(\.query.description) == [
                "Team WHERE ANY members.id == \"ada\"", "Team WHERE ANY members.id == \"ada\" LIMIT(1)",
            ])
        let binding = rules.bind(user, facts: [facts[0].id: [.string("T7"), .string("T1")], facts[1].id: []])
        #expect(binding.isComplete && binding.roles.isEmpty && binding.rights.isEmpty)
        let document = try #require(Self.schema.index(of: "Document"))
        #expect(
            binding.reads.condition(ofClass: document)?.description
                == "Document WHERE owner.id == \"ada\" OR public == true OR team IN {\"T1\", \"T7\"}")
        #expect(
            binding.condition(of: .updateAfter, onClass: document)?.query.description
                == "Document WHERE owner.id == \"ada\"")
        #expect(binding.condition(of: .delete, onClass: document)?.isNever == true)
        #expect(binding.reads.veil(ofClass: document).properties.contains(4))
    }

    @Test func aClassWithoutRulesIsDenied() throws {
        let rules = Rules(try RulesFile(Self.text), schema: Self.schema)
        let binding = rules.bind(RuleUser(id: "ada"))
        for name in ["User", "Team", "Secret"] {
            let index = try #require(Self.schema.index(of: name))
            #expect(binding.reads.condition(ofClass: index)?.isOfNothing == true)
            #expect(binding.condition(of: .create, onClass: index)?.isNever == true)
        }
    }

    @Test func usersWithEqualRulesShareAContext() throws {
        let rules = Rules(try RulesFile(Self.text), schema: Self.schema)
        let admin = JSONValue.object([.init(name: "role", value: .string("admin"))])
        let other = JSONValue.object([.init(name: "role", value: .string("clerk"))])
        let secret = try #require(Self.schema.index(of: "Secret"))
        let first = rules.bind(RuleUser(id: "ada", claims: admin))
        let second = rules.bind(RuleUser(id: "bob", claims: other))
        #expect(first.reads.id != second.reads.id)
        #expect(first.reads.narrowed(to: [secret]).id == second.reads.narrowed(to: [secret]).id)
        #expect(first.rights == [.schema] && first.roles == ["admin"])
    }
}
