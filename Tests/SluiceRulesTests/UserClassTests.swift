import SluiceModel
import Testing

@testable import SluiceRules

/// Which classes may have an object for each user, as rules say it. See the schema of ``RulesWorld``.
@Suite struct UserClassTests {
    private static func schema() throws -> Schema {
        try Schema([
            ClassSchema(
                "User", primaryKey: "id",
                properties: [Property("id", .scalar(.string)), Property("login", .scalar(.string))]),
            ClassSchema(
                "Team", primaryKey: "id",
                properties: [Property("id", .scalar(.int)), Property("members", .links("User"))]),
            ClassSchema(
                "Document", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("owner", .link("User")), Property("team", .link("Team")),
                    Property("writer", .scalar(.string)),
                ]),
        ])
    }

    /// How users are tied to the classes User, Team and Document, all of which hide who their objects are.
    private func ties(_ sets: String, _ rule: String) throws -> [UserClasses.Tie] {
        let hide = "\"hideIdentity\": true"
        let file = try RulesFile(
            """
            {"user": {\(sets)}, "classes": {"User": {\(hide)}, "Team": {\(hide)},
             "Document": {\(hide), "read": "\(rule)"}}}
            """)
        let found = UserClasses(file.document, schema: try Self.schema()).ties
        return (0..<3).map { found[$0] ?? .unsaid }
    }

    @Test(
        arguments: [
            ("", "owner.id == $user.id", [.key, .unsaid, .unsaid]),
            ("", "owner == $user.id", [.key, .unsaid, .unsaid]),
            ("", "$user.id == owner.id", [.key, .unsaid, .unsaid]),
            ("", "owner.login == $user.id", [.property, .unsaid, .unsaid]),
            ("", "owner.login == $user.id OR owner.id == $user.id", [.property, .unsaid, .unsaid]),
            ("", "owner.id == $user.claims.name", [.unsaid, .unsaid, .unsaid]),
            ("", "ANY team.members.id == $user.id", [.key, .unsaid, .unsaid]),
            ("", "ANY team.members IN {$user.id}", [.key, .unsaid, .unsaid]),
            (
                "", "SUBQUERY(team.members, $m, $m.id == $user.id AND $m.login != '').@count > 0",
                [.key, .unsaid, .unsaid]
            ),
            ("", "ANY owner.@links.Team.members.members.id == $user.id", [.key, .unsaid, .unsaid]),
            ("", "writer == $user.id", [.unsaid, .unsaid, .property]),
            ("", "id == $user.id", [.unsaid, .unsaid, .key]),
            ("\"teams\": \"Team WHERE ANY members.id == $user.id\"", "team IN $user.teams", [.key, .unsaid, .unsaid]),
            ("", "TRUEPREDICATE", [.unsaid, .unsaid, .unsaid]),
        ] as [(String, String, [UserClasses.Tie])])
    func aClassIsTiedToUsersByWhatIsComparedWithTheirIDs(
        sets: String, rule: String, expected: [UserClasses.Tie]
    ) throws {
        #expect(try ties(sets, rule) == expected)
    }

    @Test func classesThatHideNothingAreLeftOut() throws {
        let file = try RulesFile(#"{"classes": {"Document": {"read": "owner.id == $user.id"}}}"#)
        #expect(UserClasses(file.document, schema: try Self.schema()).ties.isEmpty)
    }
}
