import Foundation
import SluiceModel
import SluiceRules
import Testing

@testable import SluiceCLI

/// A page of docs/ with classes, files of rules, and tables that say what these mean.
private struct Page {
    struct Block {
        let kind: String
        let text: String
    }

    static let names = ["permissions", "coming-from-realm", "coming-from-couchbase", "coming-from-objectbox"]

    let blocks: [Block]
    let schema: Schema

    init(_ name: String) throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let page = try String(contentsOfFile: "\(root)/docs/\(name).md", encoding: .utf8)
        let parts = page.components(separatedBy: "\n```")
        blocks = stride(from: 1, to: parts.count, by: 2).map { index in
            let lines = parts[index].split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
            return Block(kind: String(lines[0]), text: lines.count > 1 ? String(lines[1]) : "")
        }
        let classes = try blocks.first { $0.kind == "classes" }?.text.split(separator: "\n").map { line in
            let sides = line.components(separatedBy: ": ")
            var key: String?
            let properties = try sides[1].components(separatedBy: ", ").map { text in
                let words = text.split(separator: " ").map(String.init)
                if words.last == "(key)" { key = words[0] }
                return Property(words[0], try #require(PropertyType(described: words[1])))
            }
            return try ClassSchema(sides[0], primaryKey: key, properties: properties)
        }
        schema = try Schema(try #require(classes))
    }
}

/// What the pages about permissions show: every file of rules fits its classes, and every table of a page holds.
@Suite struct PermissionsPageTests {
    @Test(arguments: Page.names) func everyFileOfRulesFitsTheClassesOfThePage(name: String) throws {
        let page = try Page(name)
        let files = page.blocks.filter { $0.kind == "rules" }
        try #require(files.count >= (name == "permissions" ? 8 : 1))
        for file in files {
            let problems = try RulesFile(file.text).problems(with: page.schema)
            #expect(problems.isEmpty, "\(problems)\n\(file.text)")
        }
    }

    @Test(arguments: Page.names) func everyTableOfThePageHolds(name: String) throws {
        let page = try Page(name)
        var rules: RulesFile?
        var count = 0
        for block in page.blocks {
            if block.kind == "rules" { rules = try RulesFile(block.text) }
            guard block.kind == "table", let file = rules else { continue }
            let table = try RulesTable(Array(block.text.utf8), rules: Rules(file, schema: page.schema))
            let failures = try table.failures()
            #expect(failures.isEmpty, "\(failures)")
            count += table.count
        }
        #expect(count >= (name == "permissions" ? 30 : 6))
    }

    /// The tables say which members a file has.
    @Test func everyMemberOfAFileIsOnThePage() throws {
        let text = try Page("permissions").blocks.filter { $0.kind == "rules" }.map(\.text).joined()
        for member in ["user", "roles", "database", "classes", "fields", "transitive"]
            + RuleAction.allCases.map(\.rawValue)
        where member != "updateAfter" {
            #expect(text.contains("\"\(member)\":"), "\(member)")
        }
    }
}
