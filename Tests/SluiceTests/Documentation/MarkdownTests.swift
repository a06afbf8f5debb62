import Foundation
import Testing

/// The form of every page: lines that fit, links that lead somewhere, and names that exist in the code.
@Suite struct MarkdownTests {
    private static let lineLengthMax = 120
    private static let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
    private static func pages(_ folder: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(root)/\(folder)")) ?? []
        return names.filter { $0.hasSuffix(".md") }.sorted().map { folder.isEmpty ? $0 : "\(folder)/\($0)" }
    }
    /// The pages for users.
    private static let guides = pages("docs")
    /// The chapters of the design.
    private static let rooms = pages("docs/design")
    private static let decisions = pages("docs/decisions")
    private static let pages =
        pages("") + guides + rooms + decisions + pages("docs/Sluice.docc") + pages("Benchmarks")

    private func text(_ page: String) throws -> String {
        try String(contentsOfFile: "\(Self.root)/\(page)", encoding: .utf8)
    }

    /// The lines outside code blocks, with their numbers.
    private func prose(_ page: String) throws -> [(number: Int, line: Substring)] {
        var isCode = false
        return try text(page).split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap {
            offset, line in
            let isFence = line.drop { $0 == " " }.hasPrefix("```")
            if isFence { isCode.toggle() }
            return isCode || isFence ? nil : (offset + 1, line)
        }
    }

    /// A heading in the form in which links refer to it.
    private func anchor(_ heading: Substring) -> String {
        let kept = heading.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces).lowercased().filter {
            $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_"
        }
        return kept.replacingOccurrences(of: " ", with: "-")
    }

    @Test func thereAreAllPages() {
        #expect(Self.pages.count >= 16)
        #expect(Self.pages.contains("README.md") && Self.pages.contains("docs/models.md"))
    }

    /// Tables may have longer lines, and so may a line with only one word.
    @Test(arguments: pages) func linesBreakAt120Columns(page: String) throws {
        for (number, line) in try prose(page) where line.count > Self.lineLengthMax {
            let isTable = line.drop { $0 == " " }.hasPrefix("|")
            let isOneWord = !line.drop { " -".contains($0) }.contains(" ")
            #expect(isTable || isOneWord, "\(page):\(number) has \(line.count) columns")
        }
    }

    @Test(arguments: pages) func everyLinkLeadsToAFileAndAHeading(page: String) throws {
        let folder = URL(filePath: "\(Self.root)/\(page)").deletingLastPathComponent()
        let prose = try prose(page).map(\.line).joined(separator: "\n")
        for match in prose.matches(of: #/\]\(([^)\s]+)\)/#) where !match.1.contains("://") {
            let parts = match.1.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
            let file = parts[0].isEmpty ? "\(Self.root)/\(page)" : folder.appending(path: parts[0]).path
            #expect(FileManager.default.fileExists(atPath: file), "\(page) links to \(match.1)")
            guard parts.count == 2, let target = try? String(contentsOfFile: file, encoding: .utf8) else { continue }
            let anchors = target.split(separator: "\n").filter { $0.hasPrefix("#") }.map(anchor)
            #expect(anchors.contains(String(parts[1])), "\(page) links to \(match.1)")
        }
    }

    /// The root page of the reference groups every guide; docc makes an article of each.
    @Test func everyGuideIsOnTheRootPageOfTheReference() throws {
        let rootPage = try text("docs/Sluice.docc/Sluice.md")
        let named = rootPage.matches(of: #/<doc:([^>]+)>/#).map { String($0.1) }
        let guides = Self.guides.map { String($0.dropFirst("docs/".count).dropLast(".md".count)) }
        #expect(Set(named) == Set(guides + ["DESIGN", "PROTOCOL"]))
    }

    /// A newcomer reads the page of the whole house in a quarter of an hour, and finds each room from it.
    @Test func theDesignIsShortAndLeadsToEveryRoom() throws {
        let design = try text("DESIGN.md")
        #expect(design.split(whereSeparator: \.isWhitespace).count <= 5_000)
        try #require(Self.rooms.count >= 10)
        for page in Self.rooms + ["Benchmarks/RESULTS.md"] {
            #expect(design.contains("(\(page))"), "DESIGN.md does not lead to \(page)")
        }
    }

    /// Decisions are numbered without gaps, say what else was considered, and are named by a room.
    @Test func everyDecisionHasItsPartsAndIsNamedByARoom() throws {
        try #require(Self.decisions.count >= 10)
        let rooms = try Self.rooms.map(text).joined()
        for (offset, page) in Self.decisions.enumerated() {
            let name = String(page.split(separator: "/").last ?? "")
            #expect(Int(name.prefix(3)) == offset + 1, "\(page)")
            let headings = try text(page).split(separator: "\n").filter { $0.hasPrefix("#") }
            #expect(headings.first?.hasPrefix("# \(offset + 1). ") == true, "\(page)")
            #expect(headings.dropFirst() == ["## Context", "## Decision", "## What else was considered"], "\(page)")
            #expect(rooms.contains("(../decisions/\(name))"), "no page of docs/design names \(page)")
        }
    }

    @Test func everyTypeIsOnTheRootPageOfTheReference() throws {
        let rootPage = try text("docs/Sluice.docc/Sluice.md")
        let symbols = try String(contentsOfFile: "\(Self.root)/docs/public-symbols.txt", encoding: .utf8)
        let names = symbols.matches(of: #/Sluice: (?:class|struct|enum|protocol|macro) (\w+(?:\(.*\))?)\n/#).map(\.1)
        try #require(names.count > 50)
        for name in names {
            // Of macros with one name, each is told from the others by a suffix.
            #expect(rootPage.contains("\n- ``\(name)``\n") || rootPage.contains("\n- ``\(name)-"), "\(name)")
        }
    }

    @Test func theReadmeLeadsToEveryGuide() throws {
        let readme = try text("README.md")
        for page in Self.guides {
            #expect(readme.contains("(\(page))"), "README.md does not lead to \(page)")
        }
    }

    @Test func theGuideToModelsExplainsEveryMarker() throws {
        let markers = try String(contentsOfFile: "\(Self.root)/docs/public-symbols.txt", encoding: .utf8)
            .matches(of: #/: macro (\w+)\(/#).map { "`@\($0.1)" }
        try #require(markers.count >= 6)
        let rows = try text("docs/models.md").split(separator: "\n").filter { $0.hasPrefix("| `@") }
        for marker in markers { #expect(rows.contains { $0.contains(marker) }, "docs/models.md lacks \(marker)") }
    }

    @Test func thePageOnErrorsExplainsEveryCode() throws {
        let page = try text("docs/errors.md").components(separatedBy: "\n## ").dropFirst()
        let codes = try String(contentsOfFile: "\(Self.root)/docs/public-symbols.txt", encoding: .utf8)
            .matches(of: #/: type.property (\w+)\.Code\.(\w+)/#)
        try #require(codes.count > 50)
        for code in codes {
            let section = page.first { $0.hasPrefix("\(code.1)\n") } ?? ""
            let rows = section.split(separator: "\n").filter { $0.hasPrefix("| `") }
            let isExplained = rows.contains { $0.split(separator: "|")[0].contains("`\(code.2)`") }
            #expect(isExplained, "docs/errors.md lacks \(code.1).\(code.2)")
        }
    }

    @Test func theGlossaryDefinesEachTermOnce() throws {
        let glossary = try text("docs/glossary.md")
        let rows = glossary.prefix(upTo: try #require(glossary.range(of: "## Given up")).lowerBound)
            .split(separator: "\n").filter { $0.hasPrefix("| ") }
        let terms = rows.map { $0.split(separator: "|")[0].trimmingCharacters(in: .whitespaces) }
            .filter { $0 != "term" }.flatMap { $0.components(separatedBy: ", ") }
        try #require(terms.count > 40)
        let twice = Dictionary(grouping: terms, by: \.self).filter { $0.value.count > 1 }.keys.sorted()
        #expect(twice.isEmpty)
    }

    /// What the glossary has given up: words, and names of types.
    private func givenUp() throws -> (words: [String], names: [String]) {
        let glossary = try text("docs/glossary.md")
        let part = glossary.suffix(from: try #require(glossary.range(of: "## Given up")).upperBound)
        let cells = part.split(separator: "\n").filter { $0.hasPrefix("| ") }.map { $0.split(separator: "|")[0] }
        let all = cells.flatMap { $0.split(separator: ",") }.map { $0.trimmingCharacters(in: .whitespaces) }
        let names = all.filter { $0.hasPrefix("`") }.map { $0.trimmingCharacters(in: ["`"]) }
        return (all.filter { !$0.hasPrefix("`") && $0 != "not" }, names)
    }

    @Test(arguments: pages) func everyPageUsesTheTermsOfTheGlossary(page: String) throws {
        guard page != "docs/glossary.md" else { return }
        let words = try givenUp().words
        try #require(words.count > 5)
        let retired = try Regex("\\b(\(words.joined(separator: "|")))s?\\b").ignoresCase()
        for (number, line) in try prose(page) {
            let found = line.matches(of: retired).map { String(line[$0.range]) }
            #expect(found.isEmpty, "\(page):\(number): \(found); docs/glossary.md has the terms")
        }
    }

    /// One name for one idea: no two types of the sources share a name, and none has one that was given up.
    @Test func `every type has a name of its own, and none that the glossary has given up`() throws {
        let declaration =
            #/^(?:(?:public|package|private|fileprivate|final|indirect|@\w+) )*(?:struct|class|enum|actor|protocol) (\w+)/#
            .anchorsMatchLineEndings()
        var places: [String: [String]] = [:]
        let files = FileManager.default.enumerator(atPath: "\(Self.root)/Sources")
        while let file = files?.nextObject() as? String {
            guard file.hasSuffix(".swift"),
                let source = try? String(contentsOfFile: "\(Self.root)/Sources/\(file)", encoding: .utf8)
            else { continue }
            for match in source.matches(of: declaration) { places[String(match.1), default: []].append(file) }
        }
        try #require(places.count > 1_000)
        let twins = places.filter { $0.value.count > 1 }
        #expect(twins.isEmpty)
        for name in try givenUp().names { #expect(places[name] == nil, "\(name) is in \(places[name] ?? [])") }
    }

    /// A name in these pages that looks like a type must be declared somewhere, so that renaming the type also renames
    /// it there.
    @Test(
        arguments: rooms + [
            "DESIGN.md", "CONTRIBUTING.md", "Benchmarks/RESULTS.md", "docs/threat-model.md", "docs/testing.md",
            "docs/models.md",
        ])
    func everyTypeThatAPageNamesExists(page: String) throws {
        try #require(Self.declared.count > 500)
        let named = try prose(page).flatMap { $0.line.matches(of: #/`([A-Z][a-z]\w*)[`.(]/#).map { String($0.1) } }
        try #require(!named.isEmpty)
        let unknown = Set(named).subtracting(Self.declared).subtracting(Self.foreign)
        #expect(unknown.isEmpty, "\(page) names \(unknown.sorted())")
    }

    /// The names that the sources declare, and those of files and folders.
    private static let declared: Set<String> = {
        let keywords: Set<Substring> = [
            "struct", "class", "enum", "actor", "protocol", "typealias", "macro", "func", "associatedtype",
        ]
        var declared: Set<String> = []
        // The targets, whose folders may have shorter names.
        if let package = try? String(contentsOfFile: "\(root)/Package.swift", encoding: .utf8) {
            declared.formUnion(package.matches(of: #/name: "(\w+)"/#).map { String($0.1) })
        }
        for folder in ["Sources", "Tests", "Playground"] {
            let files = FileManager.default.enumerator(atPath: "\(root)/\(folder)")
            while let file = files?.nextObject() as? String {
                declared.insert(String(file.split(separator: "/").last ?? ""))
                guard file.hasSuffix(".swift"),
                    let source = try? String(contentsOfFile: "\(root)/\(folder)/\(file)", encoding: .utf8)
                else { continue }
                let words = source.utf8.split { byte in
                    !(0x30...0x39 ~= byte || 0x41...0x5A ~= byte || 0x61...0x7A ~= byte || byte == 0x5F)
                }.map { Substring($0) }
                for (keyword, name) in zip(words, words.dropFirst()) where keywords.contains(keyword) {
                    declared.insert(String(name))
                }
            }
        }
        return declared
    }()

    /// Types of the standard library and of Foundation, modules and values that the pages mention.
    private static let foreign: Set<String> = [
        "Bool", "Int", "Int8", "Int64", "UInt", "UInt8", "UInt32", "UInt64", "Float", "Double", "Decimal", "String",
        "Data", "Date", "Set", "Equatable", "Hashable", "Codable", "Mutex", "Atomic", "AsyncSequence", "Origin",
        "Sendable",
        "Upgrade", "Other", "Package", "Synchronization",
    ]
}
