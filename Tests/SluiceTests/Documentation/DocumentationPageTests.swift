import Foundation
import Testing

/// The tables of docs/: every row is there, and every test that a row names exists.
@Suite struct DocumentationPageTests {
    /// The rows of each part of the features page, by letter.
    private static let rowCounts = [("P", 64), ("O", 60), ("I", 14), ("S", 32), ("C", 63)]
    private static let states = ["done", "part: ", "not yet", "not applicable: "]

    private let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")

    /// The cells of every table row of a page, without heads and rules.
    private func rows(_ page: String) throws -> [[String]] {
        try String(contentsOfFile: "\(root)/docs/\(page)", encoding: .utf8)
            .split(separator: "\n").filter { $0.hasPrefix("| ") }
            .map { line in
                line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            }
    }

    /// The names in backticks that can be those of functions.
    private func names(_ cell: String) -> [String] {
        cell.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
            .filter { $0.first?.isLowercase == true }
    }

    /// Every function in the tests.
    private func functions() throws -> Set<String> {
        let files = try FileManager.default.subpathsOfDirectory(atPath: "\(root)/Tests").filter {
            $0.hasSuffix(".swift")
        }
        var functions: Set<String> = []
        for file in files {
            let source = try String(contentsOfFile: "\(root)/Tests/\(file)", encoding: .utf8)
            for match in source.matches(of: #/func (?:([a-zA-Z0-9_]+)|`([^`]+)`)\(/#) {
                if let name = match.1 ?? match.2 { functions.insert(String(name)) }
            }
        }
        try #require(functions.count > 100)
        return functions
    }

    @Test func theFeaturesPageHasEveryRowOnceAndInOrder() throws {
        let numbers = try rows("features.md").compactMap(\.first).filter { $0.wholeMatch(of: #/[POISC][0-9]+/#) != nil }
        #expect(numbers == Self.rowCounts.flatMap { letter, count in (1...count).map { "\(letter)\($0)" } })
    }

    @Test func everyFeatureHasAStateAndWhatIsDoneHasATestThatExists() throws {
        let functions = try functions()
        for row in try rows("features.md") where row[0].wholeMatch(of: #/[POISC][0-9]+/#) != nil {
            try #require(row.count == 5, "\(row[0]) has \(row.count) cells")
            let (state, tests) = (row[3], row[4])
            #expect(Self.states.contains { state.hasPrefix($0) }, "\(row[0]): \(state)")
            #expect(!(state == "done" && tests.isEmpty), "\(row[0]) names no test")
            let missing = names(tests).filter { !functions.contains($0) }
            #expect(missing.isEmpty, "\(row[0]) names tests that there are not")
        }
    }

    @Test func theThreatModelNamesTestsThatExist() throws {
        let functions = try functions()
        let named = try rows("threat-model.md").compactMap(\.last).flatMap(names)
        try #require(named.count > 15)
        #expect(named.filter { !functions.contains($0) }.isEmpty)
    }

    @Test func everyGroupOfCasesAboutPermissionsNamesTestsThatExist() throws {
        let functions = try functions()
        let groups = try rows("testing.md").filter { Int($0[0]) != nil }
        #expect(groups.compactMap { Int($0[0]) } == Array(1...18))
        for group in groups {
            try #require(group.count == 3, "group \(group[0]) has \(group.count) cells")
            let names = names(group[2])
            #expect(!names.isEmpty && names.allSatisfy(functions.contains), "group \(group[0]): \(names)")
        }
    }

    /// The Swift examples of a page, each line without its indentation.
    private func examples(_ page: String) -> [[Substring]] {
        var examples: [[Substring]] = []
        var isInside = false
        for line in page.split(separator: "\n", omittingEmptySubsequences: true) {
            if line.hasPrefix("```") {
                isInside = line == "```swift"
                if isInside { examples.append([]) }
            } else if isInside {
                examples[examples.count - 1].append(trimmed(line))
            }
        }
        return examples
    }

    private func trimmed(_ line: Substring) -> Substring { line.drop { $0 == " " } }

    /// Every line of an example is in a file that is compiled: in the tests of the documentation, which run it, or in
    /// the playground.
    @Test func everyExampleOfTheGuidesIsCompiled() throws {
        let folders = [
            "Tests/SluiceTests/Documentation", "Tests/SluiceBackendTests/Documentation", "Tests/MainActorTests",
            "Playground",
        ]
        let sources = try folders.flatMap { folder in
            try (FileManager.default.subpaths(atPath: "\(root)/\(folder)") ?? []).filter { $0.hasSuffix(".swift") }
                .map { file in
                    try String(contentsOfFile: "\(root)/\(folder)/\(file)", encoding: .utf8)
                        .split(separator: "\n", omittingEmptySubsequences: true).map(trimmed)
                        .filter { !$0.isEmpty }.joined(separator: "\n")
                }
        }
        let pages = try FileManager.default.contentsOfDirectory(atPath: "\(root)/docs").filter { $0.hasSuffix(".md") }
        var count = 0
        for page in pages where page != "query-language.md" {
            let text = try String(contentsOfFile: "\(root)/docs/\(page)", encoding: .utf8)
            for example in examples(text) {
                let lines = example.joined(separator: "\n")
                #expect(sources.contains { $0.contains(lines) }, "\(page):\n\(lines)")
                count += 1
            }
        }
        #expect(count >= 12)
    }
}
