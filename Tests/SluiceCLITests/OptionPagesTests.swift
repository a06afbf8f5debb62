import Foundation
import Testing

@testable import SluiceCLI

/// Each option is somewhere in the documentation, not only in help.
struct OptionPagesTests {
    /// The pages for users, and the README.
    private static let pages: Result<String, any Error> = Result {
        let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let names = try FileManager.default.contentsOfDirectory(atPath: root + "/docs").filter { $0.hasSuffix(".md") }
        return try (names.map { "docs/\($0)" } + ["README.md"]).sorted()
            .map { try String(contentsOfFile: "\(root)/\($0)", encoding: .utf8) }.joined(separator: "\n")
    }

    @Test(arguments: Program.sluice.descriptions.map(\.name)) func eachOptionOccursInAPage(command: String) throws {
        let description = try #require(Program.sluice.descriptions.first { $0.name == command })
        let pages = try Self.pages.get()
        for option in description.options where option.name != "help" {
            let name = "--" + option.name
            let occurs = pages.ranges(of: name).contains { range in
                range.upperBound == pages.endIndex
                    || !(pages[range.upperBound].isLetter || pages[range.upperBound] == "-")
            }
            #expect(occurs, "\(command) \(name) is in no page of docs")
        }
    }
}
