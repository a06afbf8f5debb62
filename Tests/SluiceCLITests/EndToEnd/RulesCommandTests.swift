import Foundation
import TestSupport
import Testing

@testable import SluiceCLI

/// `sluice rules` as a user runs it.
struct RulesCommandTests {
    private static let schema = """
        {"classes":[{"name":"User","key":"id","count":2},{"name":"Document","key":"id","count":0},{"name":"Note","key":"@id"}],\
        "properties":[{"class":"User","name":"id","type":"string","optional":false,"was":"","index":"key"},\
        {"class":"Document","name":"id","type":"string"},{"class":"Document","name":"owner","type":"Link<User>"},\
        {"class":"Document","name":"state","type":"int?"},{"class":"Note","name":"tags","type":"[string: double]"}]}
        """

    private static let rules = """
        {"classes": {"Document": {"read": "owner.id == $user.id OR state == $user.claims.state"},
                     "Note": {"read": true}}}
        """

    @Test func checkPrintsHowRulesAreShared() async throws {
        let (rules, schema) = (try TemporaryFile(Self.rules), try TemporaryFile(Self.schema))
        let checked = try await Tool.run("rules", "check", rules.path, "--schema=\(schema.path)")
        #expect(checked.code == 0, "\(checked.diagnostics)")
        #expect(
            checked.lines == [
                "Document.read: one for each user", "  owner.id == $user.id: one for each user; found by value",
                "  state == $user.claims.state: one for each value of the claims and $client; found by value",
                "  changes with Document.owner, Document.state, User.id", "  an index on Document.state would serve it",
                "Note.read: one for everybody",
            ])
        #expect(try await Tool.run("rules", "check", rules.path).code == 0)
    }

    @Test func checkNamesTheLineAndColumnOfEachProblem() async throws {
        let rules = try TemporaryFile("{\"classes\": {\n\"Document\": {\"read\": \"ovner == 1\"},\n\"Nota\": {}}}")
        let schema = try TemporaryFile(Self.schema)
        let checked = try await Tool.run("rules", "check", rules.path, "--schema=\(schema.path)")
        #expect(checked.code == 1 && checked.lines.isEmpty)
        #expect(
            checked.diagnostics.contains("\(rules.path):2:23: classes.Document.read: Document has no property 'ovner'"))
        #expect(
            checked.diagnostics.contains(
                "\(rules.path):3:1: classes.Nota: there is no class 'Nota'; did you mean 'Note'?"))
        let broken = try TemporaryFile("{\"classes\": {,}}")
        let refused = try await Tool.run("rules", "check", broken.path)
        #expect(refused.code == 1 && refused.diagnostics.contains("\(broken.path):1:14: "))
    }

    @Test func testFailsWithWhatDiffers() async throws {
        let (rules, schema) = (try TemporaryFile(Self.rules), try TemporaryFile(Self.schema))
        let table = try TemporaryFile(
            """
            {"objects": {"User": [{"id": "ada"}], "Document": [{"id": "d1", "owner": "ada"}]},
             "tests": [{"user": "ada", "reads": "Document", "expected": ["d1"]},
                       {"user": "bob", "reads": "Document", "expected": ["d1"]},
                       {"user": "ada", "action": "delete", "object": "Document/d1", "expected": "allowed"}]}
            """)
        let tested = try await Tool.run(
            "rules", "test", rules.path, "--schema=\(schema.path)", "--table=\(table.path)")
        #expect(tested.code == 1 && tested.diagnostics.contains("2 of 3 tests failed"))
        try #require(tested.lines.count == 2)
        #expect(
            tested.lines[0]
                == "test 2: bob reads Document: expected d1, found none; the rule Document.read is owner.id == \"bob\"")
        #expect(tested.lines[1].hasPrefix("test 3: ada delete Document/d1: expected allowed, found denied"))
        let wrong = try TemporaryFile(#"{"tests": [{"user": "ada", "reeds": "Document"}]}"#)
        let refused = try await Tool.run(
            "rules", "test", rules.path, "--schema=\(schema.path)", "--table=\(wrong.path)")
        #expect(refused.code == 1 && refused.diagnostics.contains("no 'reeds'"))
    }

    /// A message names the rule that decided, also where it is one of a property.
    @Test func testNamesTheRuleOfTheProperty() async throws {
        let rules = try TemporaryFile(
            """
            {"classes": {"User": {"read": true},
                         "Document": {"read": true, "create": true, "update": true, "updateAfter": "state != 7",
                                      "fields": {"state": {"write": "owner.id == $user.id"}}}}}
            """)
        let schema = try TemporaryFile(Self.schema)
        let table = try TemporaryFile(
            """
            {"objects": {"User": [{"id": "ada"}], "Document": [{"id": "d1", "owner": "ada", "state": 1}]},
             "tests": [{"user": "bob", "action": "update", "object": "Document/d1", "set": {"state": 2}, "expected": "allowed"},
                       {"user": "ada", "action": "update", "object": "Document/d1", "set": {"state": 2}, "expected": "denied"},
                       {"user": "ada", "action": "update", "object": "Document/d1", "set": {"state": 7}, "expected": "allowed"},
                       {"user": "ada", "action": "update", "object": "Document/d1", "set": {"owner": null}, "expected": "denied"}]}
            """)
        let tested = try await Tool.run(
            "rules", "test", rules.path, "--schema=\(schema.path)", "--table=\(table.path)")
        #expect(tested.code == 1)
        try #require(tested.lines.count == 4)
        #expect(
            tested.lines[0].hasSuffix(
                "found denied: Document.state may not be written; the rule Document.state.write is owner.id == \"bob\"")
        )
        #expect(
            tested.lines[1].hasSuffix(
                "found allowed; the rule Document.update is TRUEPREDICATE; the rule Document.updateAfter is state != 7; "
                    + "the rule Document.state.write is owner.id == \"ada\""))
        #expect(
            tested.lines[2].hasSuffix(
                "Document may not be updated to these values; the rule Document.updateAfter is state != 7"))
        #expect(
            tested.lines[3].hasSuffix(
                "found allowed; the rule Document.update is TRUEPREDICATE; the rule Document.updateAfter is state != 7")
        )
    }

    @Test func diffPrintsWhatMeansSomethingElse() async throws {
        let other = Self.rules.replacingOccurrences(
            of: "owner.id == $user.id OR state == $user.claims.state",
            with: "(state = $user.claims.state) or owner.id == $user.id")
        let (one, same) = (try TemporaryFile(Self.rules), try TemporaryFile(other))
        let equal = try await Tool.run("rules", "diff", one.path, "--to=\(same.path)")
        #expect(equal.code == 0 && equal.lines.isEmpty, "\(equal.lines)")
        let new = try TemporaryFile(#"{"roles": {"a": "$user.id == 'x'"}, "classes": {"Note": {"read": false}}}"#)
        let different = try await Tool.run("rules", "diff", one.path, "--to=\(new.path)")
        #expect(
            different.lines == [
                "- classes.Document.read: owner.id == $user.id OR state == $user.claims.state",
                "~ classes.Note.read: TRUEPREDICATE → FALSEPREDICATE", "+ roles.a: $user.id == 'x'",
            ])
    }

    @Test func wrongUsageIsTold() async throws {
        for arguments in [
            ["rules"], ["rules", "check"], ["rules", "chek", "x"], ["rules", "test", "x"], ["rules", "diff", "x"],
            ["rules", "check", "x", "--to=y"], ["rules", "diff", "x", "--to=y", "--schema=z"],
        ] { #expect(try await Tool.run(arguments).code == 64, "\(arguments)") }
        #expect(try await Tool.run("rules", "check", "/nonexistent").code == 1)
        let (rules, schema) = (try TemporaryFile(Self.rules), try TemporaryFile(#"{"classes": 1}"#))
        let refused = try await Tool.run("rules", "check", rules.path, "--schema=\(schema.path)")
        #expect(refused.code == 1 && refused.diagnostics.contains("it is no schema"))
    }
}
