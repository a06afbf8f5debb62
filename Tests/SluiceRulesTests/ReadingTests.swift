import SluiceModel
import SluiceQuery
import Testing

@testable import SluiceRules

/// A file is read whole, or refused with everything that is wrong in it.
@Suite struct ReadingTests {
    private static func problems(_ text: String, schema: Schema? = nil) throws -> [String] {
        do {
            let file = try RulesFile(text)
            return schema.map { file.problems(with: $0).map(\.description) } ?? []
        } catch { return error.problems.map(\.description) }
    }

    /// A file and the beginning of the one message about it.
    static let wrong: [(text: String, message: String)] = [
        ("", "line 1, column 1: the text ends where a value is expected"),
        ("{\n  \"user\": {},\n}", "line 3, column 1: a member's name in quotes is expected"),
        (#"{"user": {}, "user": {}}"#, "line 1, column 14: the member 'user' is here twice"),
        (#"{"classes": {"A": {"read": true}, "A": {}}}"#, "line 1, column 35: the member 'A' is here twice"),
        ("[1]", "line 1, column 1: expected an object with user, roles, database and classes, found an array"),
        (
            #"{"classes": {"A": {"permissionLists": 1}}}"#,
            "line 1, column 39, in classes.A.permissionLists: expected the property with the list of each object, or"
        ),
        (
            #"{"classes": {"A": {"permissionLists": "list", "delete": true}}}"#,
            "line 1, column 20, in classes.A.permissionLists: the permission lists say what is allowed; leave 'delete'"
        ),
        (#"{"clases": {}}"#, "line 1, column 2: there is no member 'clases' here; did you mean 'classes'?"),
        (
            #"{"classes": {"A": {"rea": true}}}"#,
            "line 1, column 20, in classes.A: there is no member 'rea' here; did you mean 'read'?"
        ),
        (
            #"{"classes": {"A": {"read": 1}}}"#,
            "line 1, column 28, in classes.A.read: expected a condition in quotes, true or false, found a number"
        ),
        (
            "{\"classes\": {\"A\": {\n\"read\": \"a == 'x' AND é = = 2\"}}}",
            "line 2, column 27, in classes.A.read: found '=', expected"
        ),
        (
            #"{"classes": {"A": {"read": "a == \"x\" AND b = = 2"}}}"#,
            "line 1, column 48, in classes.A.read: found '=', expected"
        ),
        (#"{"classes": {"A": {"read": " "}}}"#, "line 1, column 28, in classes.A.read: the condition is empty"),
        (
            #"{"classes": {"A": {"read": "a == 1 SORT(a ASC)"}}}"#,
            "line 1, column 36, in classes.A.read: a rule has no SORT, LIMIT, DISTINCT or EXCLUDE"
        ),
        (
            #"{"classes": {"A": {"read": "a == $user.teems"}}, "user": {"teams": "Team WHERE a == 1"}}"#,
            "line 1, column 34, in classes.A.read: there is no derived set 'teems'; did you mean '$user.teams'?"
        ),
        (
            #"{"classes": {"A": {"read": "$role.boss"}}}"#,
            "line 1, column 29, in classes.A.read: there is no role 'boss'; declare it in \"roles\""
        ),
        (
            #"{"classes": {"A": {"read": "a == $usr.id"}}}"#,
            "line 1, column 34, in classes.A.read: there is no variable '$usr'; did you mean '$user'?"
        ),
        (
            #"{"classes": {"A": {"read": "a < $now"}}}"#,
            "line 1, column 33, in classes.A.read: there is no variable '$now'; rules do not depend on the time"
        ),
        (
            #"{"classes": {"A": {"read": "a == $user.id.x"}}}"#,
            "line 1, column 34, in classes.A.read: $user.id has no 'x'"
        ),
        (
            #"{"classes": {"A": {"read": "a == $user.claims"}}}"#,
            "line 1, column 34, in classes.A.read: $user.claims needs a name"
        ),
        (#"{"classes": {"A": {"read": "a == $user"}}}"#, "line 1, column 34, in classes.A.read: found '$user' alone"),
        (
            #"{"classes": {"A": {"read": "region == $client.region"}}}"#,
            "line 1, column 39, in classes.A.read: the client chooses $client"
        ),
        (
            #"{"classes": {"A": {"read": "b == 1 OR NOT (b == 1 AND c == $client.c)"}}}"#,
            "line 1, column 60, in classes.A.read: the client chooses $client"
        ),
        (
            #"{"roles": {"r": "$client.r == TRUE"}}"#,
            "line 1, column 18, in roles.r: the client chooses $client"
        ),
        (
            #"{"user": {"s": "S WHERE a IN $client.s"}}"#, "line 1, column 30, in user.s: the client chooses $client"
        ),
        (#"{"user": {"id": "S WHERE a == 1"}}"#, "line 1, column 11, in user.id: 'id' has a meaning of its own"),
        (
            #"{"classes": {"*": {"read": true}}}"#,
            "line 1, column 14, in classes.*: '*' cannot name a class: use 1 to 63 ASCII letters, digits and '_', not "
                + "starting with a digit; name each class"
        ),
        (
            #"{"classes": {"A": {"fields": {"a.b": {"read": true}}}}}"#,
            "line 1, column 31, in classes.A.fields.a.b: 'a.b' cannot name a property"
        ),
        (#"{"user": {"a-b": "S WHERE a == 1"}}"#, "line 1, column 11, in user.a-b: 'a-b' is no name"),
        (#"{"user": {"s": true}}"#, "line 1, column 16, in user.s: expected a query in quotes"),
        (
            #"{"roles": {"a": "$role.b", "b": "NOT $role.a"}}"#,
            "line 1, column 18, in roles.a: this depends on itself: $role.a → $role.b → $role.a"
        ),
        (#"{"roles": {"a": "name == 'x'"}}"#, "line 1, column 18, in roles.a: this is judged for the user alone"),
        (
            #"{"roles": {"a": "$role.b == NULL", "b": "$user.id == 'x'"}}"#,
            "line 1, column 18, in roles.a: $role.b always has a value"
        ),
        (#"{"classes": {"A": {"updateAfter": true}}}"#, "line 1, column 14, in classes.A: updateAfter is nothing"),
        (#"{"classes": {"A": {"hideIdentity": 1}}}"#, "line 1, column 36, in classes.A.hideIdentity: expected true"),
        (
            #"{"classes": {"A": {"read": {"chanels": "c"}}}}"#,
            "line 1, column 28, in classes.A.read: expected a condition"
        ),
        (
            #"{"classes": {"A": {"read": "SUBQUERY(x, $user, $user.a == 1).@count > 0"}}}"#,
            "line 1, column 41, in classes.A.read: found '$user' as the variable of a SUBQUERY"
        ),
    ]

    @Test(arguments: wrong) func aWrongFileIsRefusedWithThePlace(_ text: String, _ message: String) throws {
        let problems = try Self.problems(text)
        #expect(problems.count == 1 && problems[0].hasPrefix(message), "\(problems)")
    }

    /// A file that is well formed and does not fit the schema, and the beginning of the one message about it.
    static let unfit: [(text: String, message: String)] = [
        (
            #"{"classes": {"Documents": {"read": true}}}"#,
            "line 1, column 14, in classes.Documents: there is no class 'Documents'; did you mean 'Document'?"
        ),
        (
            #"{"classes": {"Document": {"read": "pubic == TRUE"}}}"#,
            "line 1, column 36, in classes.Document.read: Document has no property 'pubic'; did you mean 'public'?"
        ),
        (
            #"{"classes": {"Document": {"fields": {"salery": {"read": false}}}}}"#,
            "line 1, column 38, in classes.Document.fields.salery: Document has no property 'salery'; did you mean 'salary'?"
        ),
        (
            #"{"classes": {"Document": {"fields": {"id": {"read": false}}}}}"#,
            "line 1, column 38, in classes.Document.fields.id: Document.id is the primary key"
        ),
        (
            #"{"classes": {"Document": {"read": "salary == 'much'"}}}"#,
            "line 1, column 46, in classes.Document.read: unsupported comparison between type 'int'"
        ),
        (
            #"{"user": {"t": "Team WHERE id == 'x'"}, "classes": {"Document": {"read": "owner IN $user.t"}}}"#,
            "line 1, column 84, in classes.Document.read: Document.owner links to User, and the set is one of Team"
        ),
        (
            #"{"user": {"t": "Teem WHERE id == 'x'"}}"#,
            "line 1, column 17, in user.t: there is no class 'Teem'; did you mean 'Team'?"
        ),
        (#"{"roles": {"r": "ANY Teem.id == 'x'"}}"#, "line 1, column 22, in roles.r: there is no class 'Teem'"),
        (#"{"roles": {"r": "Team WHERE idd == 'x'"}}"#, "line 1, column 29, in roles.r: Team has no property 'idd'"),
        (#"{"roles": {"r": "'a' == 1"}}"#, "line 1, column 22, in roles.r: unsupported comparison"),
        (
            #"{"classes": {"User": {"transitive": true}}, "user": {}}"#, ""
        ),
        (
            #"{"classes": {"Permission": {"read": true}, "Channel": {"transitive": true}}}"#,
            "line 1, column 44, in classes.Channel: nothing links to Channel"
        ),
        (
            #"{"classes": {"Document": {"read": {"channels": "chanels"}}}}"#,
            "line 1, column 35, in classes.Document.read: \"channels\" names a property of Document, which has no 'chanels'; did you mean 'channels'?"
        ),
        (
            #"{"classes": {"Document": {"read": {"channels": "channels"}}}}"#,
            "line 1, column 35, in classes.Document.read: \"channels\" needs a derived set of that name"
        ),
        (
            #"{"classes": {"Document": {"read": {"objectList": "channels"}}}}"#,
            "line 1, column 35, in classes.Document.read: Document.channels is no list of links to the class Permission"
        ),
    ]

    @Test(arguments: unfit) func aFileThatDoesNotFitTheSchemaIsToldSo(_ text: String, _ message: String) throws {
        let problems = try Self.problems(text, schema: RulesWorld.schema)
        #expect(problems.count == (message.isEmpty ? 0 : 1), "\(problems)")
        if !message.isEmpty { #expect(problems.first?.hasPrefix(message) == true, "\(problems)") }
    }

    @Test func allProblemsOfAFileAreListedInTheOrderOfTheText() throws {
        let text = """
            {"user": {"1": "A WHERE a == 1"},
             "rolls": {},
             "classes": {"A": {"read": "a ==", "raed": true,
                               "update": "b == $user.x OR $role.y"}}}
            """
        let lines = try Self.problems(text).map { $0.prefix { $0 != ":" } }
        #expect(
            lines == [
                "line 1, column 11, in user.1", "line 2, column 2", "line 3, column 33, in classes.A.read",
                "line 3, column 36, in classes.A", "line 4, column 36, in classes.A.update",
                "line 4, column 47, in classes.A.update",
            ])
    }

    @Test func aHugeFileIsRefusedByItsSize() throws {
        let problems = try Self.problems(String(repeating: " ", count: RulesLimits.byteCountMax + 1))
        #expect(problems.count == 1 && problems[0].contains("the limit is"))
        let long = "{\"classes\": {\"A\": {\"read\": \"" + String(repeating: "a", count: 20_000) + "\"}}}"
        #expect(try Self.problems(long).first?.contains("the limit is 16384") == true)
        let chain = (0..<20).map { "\"r\($0)\": \"$role.r\($0 + 1)\"" } + ["\"r20\": true"]
        let deep = "{\"roles\": {\(chain.joined(separator: ","))}}"
        #expect(try Self.problems(deep).first?.contains("in a row") == true)
    }

    @Test func filesThatDifferInBlanksAndOrderAreEqual() throws {
        let one = try RulesFile(#"{"classes": {"A": {"read": true, "update": "a == '\u0041'"}}, "user": {}}"#)
        let other = try RulesFile("{\"user\":{},\n\"classes\":{\"A\":{\"update\":\"a == 'A'\",\"read\":true}}}")
        #expect(one == other && one.hash == other.hash)
        #expect(try RulesFile(one.canonicalBytes) == one)
        #expect(try RulesFile("{}") != one)
    }
}
