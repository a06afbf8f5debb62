import SluiceJSON
import SluiceRules
import Testing

/// Comparisons that cannot match for what a claim is.
struct ClaimMisuseTests {
    private func misuses(_ condition: String, _ claims: String) throws -> [String] {
        let file = try RulesFile("{\"roles\": {\"admin\": \"\(condition)\"}}")
        return try file.claimMisuses(of: JSONParser.parse(claims)).map(\.message)
    }

    @Test(arguments: [
        ("$user.claims.roles == 'admin'", "== compares one value; write 'admin' IN $user.claims.roles"),
        ("'admin' = $user.claims.roles", "== compares one value; write 'admin' IN $user.claims.roles"),
        ("$user.claims.roles != 'admin'", "!= compares one value; write 'admin' IN $user.claims.roles"),
        ("$user.claims.roles CONTAINS 'adm'", "CONTAINS compares one value; write 'adm' IN $user.claims.roles"),
        (
            "'x' IN $user.claims.a.b",
            "$user.claims.a.b is one value here, and IN takes a list; write 'x' == $user.claims.a.b"
        ),
    ])
    func aComparisonThatDoesNotFitIsToldWithWhatToWrite(_ condition: String, _ message: String) throws {
        let found = try misuses(condition, #"{"roles": ["admin"], "a": {"b": "x"}}"#)
        #expect(found.count == 1 && found[0].hasSuffix(message), "\(found)")
    }

    @Test(arguments: [
        "'admin' IN $user.claims.roles", "$user.claims.a.b == 'x'", "$user.claims.roles == NULL",
        "$user.claims.none == 'x'", "'x' IN $user.claims.none", "$user.id == 'x'", "$user.claims.null == 'x'",
    ])
    func whatFitsIsNotTold(_ condition: String) throws {
        #expect(try misuses(condition, #"{"roles": ["admin"], "a": {"b": "x"}, "null": null}"#) == [])
    }

    @Test func allPartsOfAFileAreLookedAtInTheirOrder() throws {
        let file = try RulesFile(
            """
            {"user": {"teams": "Team WHERE name == $user.claims.list"},
             "database": {"schema": "$user.claims.list == 'a'"},
             "classes": {"Document": {"read": "id == $user.claims.list",
                                      "fields": {"salary": {"read": "$user.claims.list == 'b'", "write": "id == $user.claims.list"}}}}}
            """)
        let found = try file.claimMisuses(of: JSONParser.parse(#"{"list": []}"#))
        #expect(found.map(\.line) == [1, 2, 3, 4, 4])
        #expect(
            found.map(\.place) == [
                "user.teams", "database.schema", "classes.Document.read", "classes.Document.fields.salary.read",
                "classes.Document.fields.salary.write",
            ])
    }

    @Test func aProblemIsReadAsItIsWritten() {
        for problem in [
            RulesProblem(line: 3, column: 14, place: "classes.A.read", message: "there is: a colon"),
            RulesProblem(line: 1, column: 1, place: "", message: "x"),
        ] {
            #expect(RulesProblem(problem.description) == problem)
        }
        for text in ["", "line x", "line 1", "line 1, column 2", "nothing of it"] { #expect(RulesProblem(text) == nil) }
        let problem = RulesProblem(line: 3, column: 14, place: "classes.A.read", message: "no")
        #expect(problem.line(inFile: "r.json") == "r.json:3:14: classes.A.read: no")
    }
}
