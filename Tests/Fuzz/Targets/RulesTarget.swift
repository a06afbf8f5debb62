import SluiceCLI
import SluiceJSON
import SluiceModel
import SluiceQuery
import SluiceRules
import TestSupport

/// Rules files as an administrator deploys them: read, checked, compiled, and bound to users with odd claims.
enum RulesTarget {
    private static let schema = RulesSchema.schema

    private static let users = [
        RuleUser(id: nil),
        RuleUser(id: "ada", claims: (try? JSONParser.parse(#"{"role": "admin", "n": 1e400, "l": ["a", 1]}"#)) ?? .null),
    ]

    static func run(_ bytes: [UInt8]) {
        guard let file = try? RulesFile(bytes) else { return }
        precondition((try? RulesFile(file.canonicalBytes)) == file, "the canonical bytes are another file")
        precondition(file.differences(to: file).isEmpty)
        let problems = file.problems(with: schema)
        precondition(problems.count <= RulesLimits.problemCountMax)
        _ = file.report(schema: schema)
        let rules = Rules(file, schema: schema)
        for user in users {
            var results: RuleFactResults = [:]
            for fact in rules.facts(of: user) { results[fact.id] = [.string("T1"), .string("T2")] }
            let binding = rules.bind(user, client: ["a": .string("x"), "b": .list([.int(1)])], facts: results)
            let again = rules.bind(user, client: ["a": .string("x"), "b": .list([.int(1)])], facts: results)
            precondition(binding.reads.id == again.reads.id, "equal rules have different contexts")
            for classIndex in schema.classes.indices where file.lacksRules(of: schema[classIndex].name) {
                precondition(binding.reads.condition(ofClass: classIndex)?.isOfNothing == true, "a class is open")
            }
        }
    }

    static func runSchema(_ bytes: [UInt8]) { _ = try? SchemaFile.schema(bytes) }
}

extension RulesFile {
    /// Whether the file says nothing of a class, going by its text alone.
    fileprivate func lacksRules(of className: String) -> Bool {
        !String(decoding: canonicalBytes, as: UTF8.self).contains(className)
    }
}
