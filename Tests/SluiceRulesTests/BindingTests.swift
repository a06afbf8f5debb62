import SluiceJSON
import SluiceModel
import SluiceQuery
import Testing

@testable import SluiceRules

/// A rules file becomes what one user may do.
@Suite struct BindingTests {
    private static let document = RulesWorld.index("Document")

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
        let rules = try Rules(Self.text)
        let user = RuleUser(id: "ada")
        let facts = rules.facts(of: user)
        #expect(
            facts.map(\.query.description) == [
                "Team WHERE ANY members.id == \"ada\"", "Team WHERE ANY members.id == \"ada\" LIMIT(1)",
            ])
        let binding = rules.bind(user, facts: [facts[0].id: [.string("T7"), .string("T1")], facts[1].id: []])
        #expect(binding.isComplete && binding.roles.isEmpty && binding.rights.isEmpty)
        #expect(
            binding.reads.condition(ofClass: Self.document)?.description
                == "Document WHERE owner.id == \"ada\" OR public == true OR team IN {\"T1\", \"T7\"}")
        #expect(binding.condition(of: .updateAfter, onClass: Self.document)?.text == "owner.id == \"ada\"")
        #expect(binding.condition(of: .delete, onClass: Self.document)?.isNever == true)
        #expect(binding.reads.veil(ofClass: Self.document).properties.contains(4))
        #expect(binding.setSizes.map(\.name) == ["teams"] && binding.setSizes.map(\.count) == [2])
    }

    @Test func aClassWithoutRulesIsDenied() throws {
        let binding = try Rules(Self.text).bind(RuleUser(id: "ada"))
        for name in ["User", "Team", "Secret"] {
            let index = RulesWorld.index(name)
            #expect(binding.reads.condition(ofClass: index)?.isOfNothing == true)
            #expect(binding.condition(of: .create, onClass: index)?.isNever == true)
        }
        #expect(!binding.reads.isEverything && binding.condition(of: .read, onClass: 99) == nil)
    }

    @Test func aClassWhoseRuleHoldsForEveryObjectHasNoCondition() throws {
        let binding = try Rules(#"{"classes": {"User": {"read": true}}}"#).bind(RuleUser(id: nil))
        #expect(binding.reads.condition(ofClass: RulesWorld.index("User")) == nil)
        #expect(!binding.reads.classes.contains(RulesWorld.index("User")))
        #expect(binding.reads.classes.count == RulesWorld.schema.classes.count - 1)
    }

    @Test func usersWithEqualRulesShareAContext() throws {
        let rules = try Rules(Self.text)
        let first = rules.bind(try RuleUser("ada", #"{"role": "admin"}"#))
        let second = rules.bind(try RuleUser("bob", #"{"role": "clerk"}"#))
        #expect(first.reads.id != second.reads.id)
        let secret: Set = [RulesWorld.index("Secret")]
        #expect(first.reads.narrowed(to: secret).id == second.reads.narrowed(to: secret).id)
        #expect(first.rights == [.schema] && first.roles == ["admin"] && second.rights.isEmpty)
        let again = rules.bind(try RuleUser("ada", #"{"role": "admin", "shoe": 44}"#))
        #expect(again.reads.id == first.reads.id)
    }

    @Test func aConditionIsMadeOnceItIsAskedFor() throws {
        let rules = try Rules(
            #"""
            {"classes": {"User": {"read": "id == $user.id"}, "Team": {"read": "id == $user.id", "delete": "id == $user.id"},
                         "Document": {"read": "owner.id == $user.id", "update": "owner.id == $user.id",
                                      "fields": {"salary": {"read": false}}}}}
            """#)
        let binding = rules.bind(RuleUser(id: "ada"))
        #expect(binding.madeConditionCount == 0)
        _ = (binding.id, binding.reads.id, binding.reads.veil(ofClass: Self.document))
        #expect(binding.madeConditionCount == 0)
        let narrowed = binding.reads.narrowed(to: [Self.document])
        #expect(narrowed.condition(ofClass: Self.document)?.description == "Document WHERE owner.id == \"ada\"")
        #expect(binding.madeConditionCount == 1)
        _ = binding.condition(of: .update, onClass: Self.document)?.text
        #expect(binding.madeConditionCount == 2)
    }

    @Test func bindingsAreEqualWhereTheSameHolds() throws {
        let rules = try Rules(Self.text)
        func id(_ user: String, _ claims: String = "{}") throws -> ObjectID {
            try rules.bind(RuleUser(user, claims)).id
        }
        #expect(try id("ada") == id("ada", #"{"shoe": 44}"#))
        #expect(try id("ada") != id("bob") && id("ada") != id("ada", #"{"role": "admin"}"#))
        let shared = try Rules(#"{"classes": {"Document": {"read": "public == TRUE"}}}"#)
        #expect(try shared.bind(RuleUser("ada", "{}")).id == shared.bind(RuleUser("bob", #"{"role": "admin"}"#)).id)
    }

    @Test func aNarrowedContextDeniesTheOtherClasses() throws {
        let rules = try Rules(#"{"classes": {"User": {"read": true}, "Team": {"read": "id == $user.id"}}}"#)
        let reads = rules.bind(RuleUser(id: "ada")).reads.narrowed(to: [RulesWorld.index("Team")])
        #expect(reads.condition(ofClass: RulesWorld.index("User"))?.isOfNothing == true)
        #expect(reads.condition(ofClass: RulesWorld.index("Team"))?.description == "Team WHERE id == \"ada\"")
    }

    @Test func hiddenPropertiesAndIdentitiesArePartOfAContextsID() throws {
        func id(_ members: String) throws -> ObjectID {
            try Rules("{\"classes\": {\"Document\": {\"read\": true\(members)}}}").bind(RuleUser(id: "ada")).reads.id
        }
        let ids = try [
            id(""), id(#", "hideIdentity": true"#), id(#", "fields": {"salary": {"read": false}}"#),
            id(#", "fields": {"public": {"read": false}}"#),
        ]
        #expect(Set(ids).count == 4)
    }

    @Test func theFactsOfASetThatDependsOnAnotherComeSecond() throws {
        let rules = try Rules(
            #"""
            {"user": {"papers": "Document WHERE team IN $user.teams", "teams": "Team WHERE ANY members.id == $user.id"},
             "classes": {"Secret": {"read": "ANY @links.Document.secret.id IN $user.papers"}}}
            """#)
        let user = RuleUser(id: "ada")
        let first = rules.facts(of: user)
        #expect(first.map(\.name) == ["$user.teams"])
        let second = rules.facts(of: user, given: [first[0].id: [.string("T1")]])
        #expect(second.map(\.name) == ["$user.teams", "$user.papers"])
        #expect(second[1].query.description == "Document WHERE team == \"T1\"")
        #expect(!rules.bind(user, facts: [first[0].id: [.string("T1")]]).isComplete)
    }

    @Test func aSetOfManyElementsIsKeptWhole() throws {
        let rules = try Rules(Self.text)
        let user = RuleUser(id: "ada")
        let facts = rules.facts(of: user)
        let keys = (0..<50_000).map { ObjectKey.string("T\($0)") }
        let binding = rules.bind(user, facts: [facts[0].id: keys, facts[1].id: []])
        let world = RulesWorld()
        world.add("Team", .string("T49999"))
        world.add("Document", .string("in"), ["team": .link(.string("T49999"))])
        world.add("Document", .string("out"), ["team": .link(.string("T50000"))])
        #expect(try world.allowed(binding.condition(of: .read, onClass: Self.document), "Document") == ["in"])
        let condition = try #require(binding.condition(of: .read, onClass: Self.document))
        #expect(condition.query.alternatives.count == 50_002)
        let rebound = try binding.reads.rebound(to: RulesWorld.schema)
        #expect(rebound.id == binding.reads.id)
    }

    @Test func aContextThatMeetsASchemaWithMoreDeniesWhatIsNew() throws {
        let small = try Schema(RulesWorld.schema.classes.filter { ["User", "Team"].contains($0.name) })
        let rules = try Rules(#"{"classes": {"User": {"read": "id == $user.id"}}}"#, schema: small)
        let grown = try rules.bind(RuleUser(id: "ada")).reads.rebound(to: RulesWorld.schema)
        #expect(grown.condition(ofClass: RulesWorld.index("User"))?.description == "User WHERE id == \"ada\"")
        #expect(grown.condition(ofClass: RulesWorld.index("Document"))?.isOfNothing == true)
    }

    @Test func aRuleThatNamesWhatTheSchemaLacksAllowsNothing() throws {
        let text = #"""
            {"user": {"teams": "Squad WHERE id == $user.id"}, "roles": {"odd": "ANY Squad.id == $user.id"},
             "classes": {"Document": {"read": "public == TRUE OR colour == 'red'", "update": "NOT $role.odd",
                                      "delete": "NOT team IN $user.teams"},
                         "Squad": {"read": true}}}
            """#
        let binding = try Rules(text).bind(RuleUser(id: "ada"))
        for action in RuleAction.allCases {
            #expect(binding.condition(of: action, onClass: Self.document)?.isNever == true, "\(action)")
        }
    }

    @Test func theAtomsOfARuleAreSharedByThoseWhoHoldThem() throws {
        let rules = try Rules(Self.text)
        func atoms(_ name: String, _ teams: [String]) throws -> [ObjectID] {
            let user = RuleUser(id: name)
            let facts = rules.facts(of: user)
            let results: RuleFactResults = [facts[0].id: teams.map { .string($0) }, facts[1].id: []]
            let condition = rules.bind(user, facts: results).condition(of: .read, onClass: Self.document)
            return try #require(condition).query.alternatives.map(\.hash)
        }
        let (ada, bob) = (try atoms("ada", ["T1", "T2"]), try atoms("bob", ["T2", "T3"]))
        #expect(ada.count == 4 && Set(ada).intersection(bob).count == 2)
    }

    @Test func bindingsAreEqualWhereWhatRulesNameIsEqual() throws {
        let rules = try Rules(
            #"{"classes": {"Document": {"read": true, "update": "salary < $user.claims.level OR $user.id == 'ada'"}}}"#)
        func id(_ user: String?, _ claims: String) throws -> ObjectID { rules.bind(try RuleUser(user, claims)).id }
        #expect(try id("ada", #"{"level": 1}"#) == id("ada", #"{"level": 1, "shoe": 44}"#))
        let ids = try [
            id("ada", #"{"level": 1}"#), id("bob", #"{"level": 1}"#), id("ada", #"{"level": "1"}"#), id("ada", "{}"),
            id(nil, #"{"level": 1}"#), id("ada", #"{"level": [1]}"#), id("ada", #"{"level": ["1", "2"]}"#),
            id("ada", #"{"level": ["1 text 1:2"]}"#),
        ]
        #expect(Set(ids).count == ids.count)
    }
}
