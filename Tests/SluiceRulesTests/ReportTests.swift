import SluiceModel
import Testing

@testable import SluiceRules

/// What `check` and `diff` print is made of.
@Suite struct ReportTests {
    /// A rule on documents and how it is shared, whole and in parts.
    static let shared: [(rule: String, whole: RuleSharing, atoms: [RuleSharing])] = [
        ("public == TRUE", .everybody, [.everybody]),
        ("$role.admin OR public == TRUE", .roles, [.roles, .everybody]),
        ("team IN $user.teams", .set, [.element]),
        ("team IN $user.teams OR (public == TRUE OR salary > 1)", .set, [.element, .everybody, .everybody]),
        ("NOT team IN $user.teams", .set, [.set]),
        ("owner.id == $user.id", .user, [.user]),
        ("salary == $user.claims.n AND owner.id == $user.id", .user, [.user]),
        ("salary == $user.claims.n", .value, [.value]),
    ]

    private static func report(_ rule: String) throws -> RuleReport? {
        try RulesFile(
            """
            {"user": {"teams": "Team WHERE ANY members.id == $user.id"}, "roles": {"admin": "$user.claims.a == 1"},
             "classes": {"Document": {"read": "\(rule)"}}}
            """
        ).report(schema: RulesWorld.schema).first
    }

    @Test(arguments: shared)
    func aReportSaysHowARuleIsShared(_ rule: String, _ whole: RuleSharing, _ atoms: [RuleSharing]) throws {
        let report = try #require(try Self.report(rule))
        #expect(report.place == "Document.read" && report.sharing == whole && report.atoms.map(\.sharing) == atoms)
    }

    @Test func aReportNamesWhatARuleReadsAndWhatIndexItLacks() throws {
        let owned = try #require(try Self.report("owner.id == $user.id"))
        #expect(owned.reads == ["Document.owner", "User.id"] && owned.missingIndexes.isEmpty)
        #expect(owned.atoms.map(\.isFoundByValue) == [true])
        let paid = try #require(try Self.report("salary == $user.claims.n"))
        #expect(paid.missingIndexes == ["Document.salary"])
        let odd = try #require(try Self.report("NOT owner.id == $user.id"))
        #expect(!odd.atoms[0].isFoundByValue)
    }

    @Test func filesDifferInWhatTheyMean() throws {
        let one = try RulesFile(
            #"""
            {"user": {"t": "Team WHERE id == 'a'"},
             "classes": {"A": {"read": "a == 1 OR b == 2 AND (c == 3)", "update": "a == 1", "updateAfter": "a == 1"},
                         "B": {"read": true, "hideIdentity": true, "fields": {"x": {"read": false, "write": false}}}}}
            """#)
        let same = try RulesFile(
            #"""
            {"classes": {"B": {"read": "truepredicate", "hideIdentity": true,
                               "fields": {"x": {"write": "FALSEPREDICATE", "read": false}}},
                         "A": {"read": "(c=3 && b = 2) or a==1", "update": "a == 1"}},
             "user": {"t": "Team where id = \"a\""}}
            """#)
        #expect(one.differences(to: same).isEmpty, "\(one.differences(to: same))")
        let other = try RulesFile(
            #"{"classes": {"A": {"read": "a == 1", "create": {"channels": "c"}}, "B": {"transitive": true}}, "user": {"channels": "C WHERE a == 1"}}"#
        )
        let places = one.differences(to: other).map { String("\($0)".prefix { $0 != ":" }) }
        #expect(
            places == [
                "+ classes.A.create", "~ classes.A.read", "- classes.A.update", "- classes.B.fields.x.read",
                "- classes.B.fields.x.write", "- classes.B.hideIdentity", "- classes.B.read", "+ classes.B.transitive",
                "+ user.channels", "- user.t",
            ])
    }

    @Test func aTransitiveClassInACircleIsReadableAsFarAsTheCircleIsOpen() throws {
        let schema = try Schema([
            ClassSchema(
                "A", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.string)), Property("b", .link("B")), Property("open", .scalar(.bool)),
                ]),
            ClassSchema(
                "B", primaryKey: "id", properties: [Property("id", .scalar(.string)), Property("a", .link("A"))]),
        ])
        let rules = try Rules(
            #"{"classes": {"A": {"read": "open == TRUE", "transitive": true}, "B": {"read": false, "transitive": true}}}"#,
            schema: schema)
        let binding = rules.bind(RuleUser(id: nil))
        #expect(
            binding.condition(of: .read, onClass: 1)?.text
                == "SUBQUERY(@links.A.b, $v1, $v1.open == true).@count > 0")
        #expect(binding.condition(of: .read, onClass: 0)?.text.contains("open == true OR") == false)
    }
}
