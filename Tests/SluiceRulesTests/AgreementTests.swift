import SluiceJSON
import SluiceModel
import SluiceQuery
import TestSupport
import Testing

@testable import SluiceRules

/// Rules, users and objects made at random: what is bound allows what the rule's text says, read naively.
@Suite(.ownThread) struct AgreementTests {
    private static let claims = [
        "{}", #"{"role": "admin"}"#, #"{"role": "clerk", "level": 3, "channels": ["a"]}"#,
        #"{"role": "d", "level": "x", "channels": []}"#, #"{"level": 1, "channels": ["a", "b"], "role": null}"#,
    ]

    @Test(arguments: 0..<8) func boundRulesAllowWhatTheirTextSays(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var allowedCount = 0
        var deniedCount = 0
        for _ in 0..<40 {
            let world = RulesWorld.random(&random)
            let rule = RuleCondition<DocumentSubject>.make(4, &random)
            let rules = try Rules(
                """
                {"user": {"teams": "Team WHERE ANY members.id == $user.id"},
                 "roles": {"admin": "$user.claims.role == 'admin'", "member": "ANY Team.members.id == $user.id",
                           "outsider": "NOT $role.admin AND NOT $role.member"},
                 "classes": {"Document": {"read": "\(rule.text)"}}}
                """)
            for id in ["ada", "bob", "cy", nil] as [String?] {
                let user = try RuleUser(id, random.pick(Self.claims))
                let binding = try world.bind(rules, user)
                let condition = binding.condition(of: .read, onClass: RulesWorld.index("Document"))
                let rows = world.objects(named: "Document").values
                let expected = rows.filter { row in
                    let document = RuledObject("Document", row, in: world)
                    return rule.holds(DocumentSubject(document: document, user: user, world: world)) ?? false
                }.map(\.key.description)
                let allowed = try world.allowed(condition, "Document")
                #expect(allowed == expected.sorted(), "\(rule.text) for \(user), bound: \(condition?.text ?? "")")
                allowedCount += expected.count
                deniedCount += rows.count - expected.count
                // Each atom allows objects by itself, and together they allow all.
                let atoms = condition.map { $0.isNever ? [] : $0.query.alternatives } ?? []
                #expect(try Set(atoms.flatMap { try world.keys($0).map(\.description) }).sorted() == allowed)
            }
        }
        #expect(allowedCount > 500 && deniedCount > 500)
    }

    @Test func everyPartThatRulesAreMadeOfFitsTheSchema() throws {
        for leaf in RuleCondition<DocumentSubject>.leaves {
            let file = try RulesFile(
                """
                {"user": {"teams": "Team WHERE ANY members.id == $user.id"},
                 "roles": {"admin": "$user.claims.role == 'admin'", "member": "ANY Team.members.id == $user.id",
                           "outsider": "NOT $role.admin AND NOT $role.member"},
                 "classes": {"Document": {"read": "\(leaf.text)"}}}
                """)
            #expect(file.problems(with: RulesWorld.schema).isEmpty, "\(file.problems(with: RulesWorld.schema))")
        }
    }

    /// Files with a few bytes changed, removed or repeated are read or refused, and what is read can be bound.
    @Test(arguments: 0..<4) func aMutatedFileIsReadOrRefused(seed: Int) throws {
        var random = SeededGenerator(seed: 100 + UInt64(seed))
        let seedFile = Array(
            #"""
            {"user": {"teams": "Team WHERE ANY members.id == $user.id"},
             "roles": {"admin": "$user.claims.role == 'admin'", "editor": "ANY Team.members.id == $user.id"},
             "database": {"schema": "$role.admin"},
             "classes": {"Document": {"read": "public == TRUE OR owner.id == $user.id OR team IN $user.teams",
               "update": "owner.id == $user.id AND NOT salary IN {1, $user.claims.x}", "delete": "$role.admin",
               "fields": {"salary": {"read": "$role.admin", "write": "SUBQUERY(team.members, $m, $m.id == $user.id).@count > 0"}}},
              "Secret": {"read": false, "transitive": true}, "Channel": {"read": {"objectList": "x"}}}}
            """#.utf8)
        var readCount = 0
        for _ in 0..<400 {
            var bytes = seedFile
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let position = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[position] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes[position] = random.pick(Array("\"{}[]:,$.'()=01aNOT ".utf8))
                case 2: bytes.remove(at: position)
                default: bytes.insert(contentsOf: bytes[position..<min(position + 9, bytes.count)], at: position)
                }
            }
            let file: RulesFile
            do { file = try RulesFile(bytes) } catch {
                #expect(!error.problems.isEmpty)
                continue
            }
            readCount += 1
            #expect(try RulesFile(file.canonicalBytes) == file)
            _ = file.problems(with: RulesWorld.schema)
            _ = file.report(schema: RulesWorld.schema)
            let binding = try RulesWorld().bind(Rules(file, schema: RulesWorld.schema), RuleUser(id: "ada"))
            #expect(binding.reads.condition(ofClass: RulesWorld.index("Permission"))?.isOfNothing == true)
        }
        #expect(readCount > 5)
    }
}
