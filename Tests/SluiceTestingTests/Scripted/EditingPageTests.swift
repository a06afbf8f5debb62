import Foundation
import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import TestSupport
import Testing

/// The tables of docs/editing-together.md are what happens, through the engines of two clients and a server.
struct EditingPageTests {
    private static let object = ObjectRef(0, .string("x"))
    private static let schema = try! Schema([
        ClassSchema(
            "Thing", primaryKey: "id",
            properties: [
                Property("id", .scalar(.string)), Property("price", .scalar(.int)), Property("name", .scalar(.string)),
                Property("tags", PropertyType(.scalar(.string), container: .set)),
                Property("rooms", PropertyType(.scalar(.string), container: .map)),
                Property("steps", PropertyType(.scalar(.string), container: .list)),
            ])
    ])

    /// The rows of the tables: what both have, what each of them writes, and what everybody has then.
    private static let rows: [String] = {
        let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let text = (try? String(contentsOfFile: "\(root)/docs/editing-together.md", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init).filter { $0.hasPrefix("| `") }
    }()

    @Test func thePageHasManyRows() { #expect(Self.rows.count > 55) }

    @Test(arguments: rows, [[0, 1], [1, 0]])
    func everyRowOfThePageIsWhatHappens(_ row: String, order: [Int]) throws {
        let cells = row.split(separator: "`").enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
        try #require(cells.count == 4, "\(row)")
        let sync = try HandDrivenSync(clientCount: 2, Self.schema)
        for person in 0...1 {
            _ = try sync.engine(person).observe(Query.parse("Thing", schema: Self.schema)) { _ in }
        }
        sync.settle()
        if let start = try Self.values(cells[0]) {
            try sync.engine(0).write { try $0.insert(Self.row(start), ofClass: 0) }
        }
        sync.settle()
        for person in 0...1 { sync.cut(person) }
        for person in 0...1 {
            sync.wait(1_000)
            for transaction in cells[1 + person].split(separator: ";") {
                try sync.engine(person).write { writer in
                    for operation in Self.operations(String(transaction)) { try Self.apply(operation, writer) }
                }
            }
        }
        for person in order {
            sync.mend(person)
            sync.settle()
        }
        let expected = try Self.values(cells[3])
        let found = try sync.server.row(Self.object)
        #expect((found == nil) == (expected == nil))
        for (property, value) in expected ?? [:] { #expect(found?.values[property] == value) }
        for person in 0...1 {
            #expect(try sync.storage(person).row(Self.object)?.values == found?.values, "person \(person)")
            #expect(sync.storage(person).outboxCount == 0)
        }
        #expect(sync.violations == [])
        #expect(sync.rejections.isEmpty)
    }

    // MARK: Reading the page

    /// `price 10, tags {a b}`; nil for `nothing`.
    private static func values(_ text: String) throws -> [Int: Value]? {
        guard text != "nothing" else { return nil }
        var values: [Int: Value] = [:]
        for part in text.split(separator: ",") {
            let words = part.split(separator: " ", maxSplits: 1)
            values[try property(words[0])] = try value(words[1])
        }
        return values
    }

    private static func property(_ name: some StringProtocol) throws -> Int {
        try #require(schema[0].index(of: String(name)), "there is no property \(name)")
    }

    private static func value(_ text: some StringProtocol) throws -> Value {
        let names = String(String(text).dropFirst().dropLast()).split(separator: " ").map { String($0) }
        switch text.first {
        case "{": return .set(of: names.map { .string($0) })
        case "(": return .list(names.map { .string($0) })
        case "[": return .map(ValueMap(try names.map { try entry($0) }.map { ($0.key, $0.value) }))
        default: return Int64(text).map { .int($0) } ?? .string(String(text))
        }
    }

    private static func entry(_ text: some StringProtocol) throws -> ValueMap.Entry {
        let halves = String(text).split(separator: "=")
        try #require(halves.count == 2, "\(text) is no entry")
        return ValueMap.Entry(key: String(halves[0]), value: .string(String(halves[1])))
    }

    private static func row(_ values: [Int: Value]) -> Row {
        var row = Row(key: object.key, values: schema[0].defaultValues(for: object.key))
        for (property, value) in values { row.values[property] = value }
        return row
    }

    /// The operations of a transaction. One on a list that it does not name is followed by one that does.
    private static func operations(_ text: String) -> [[Substring]] {
        var operations = text.split(separator: ",").map { $0.split(separator: " ") }
        for index in operations.indices.dropLast().reversed()
        where operations[index].last != "steps" && ["insert", "move", "replace"].contains(operations[index][0]) {
            guard let last = operations[index + 1].firstIndex(of: "in") else { continue }
            operations[index] += operations[index + 1][last...]
        }
        return operations
    }

    /// Carries out an operation in the words of the page.
    private static func apply(_ words: [Substring], _ writer: LocalWriter) throws {
        func update(_ property: Int, _ change: FieldOperation.Change) throws {
            try writer.update(object, [FieldOperation(property, change)])
        }
        switch (words[0], words.dropFirst().dropLast().last) {
        case ("delete", _): try writer.delete(object)
        case ("create", _):
            let values = try values(words[1...].joined(separator: " ")) ?? [:]
            try writer.insert(row(values), ofClass: 0)
        case ("set", _):
            try update(try property(words[1]), .set(try value(words[2...].joined(separator: " "))))
        case ("add", _): try update(try property(words[3]), .add(try value(words[1])))
        case ("clear", _): try update(try property(words[1]), .clear)
        case ("put", _): try update(try property(words[3]), .edit(ElementEdits(setting: [try entry(words[1])])))
        case ("insert", "into"):
            try update(try property(words[3]), .edit(ElementEdits(inserting: [try value(words[1])])))
        case ("remove", "from") where words[3] == "rooms":
            try update(try property(words[3]), .edit(ElementEdits(setting: [], erasing: [String(words[1])])))
        case ("remove", "from") where words[3] == "tags":
            try update(try property(words[3]), .edit(ElementEdits(inserting: [], erasing: [try value(words[1])])))
        default: try edit(words, writer)
        }
    }

    /// Edits a list: `insert x after a in steps`, `move a first in steps`, `replace a by x in steps`, `remove a from steps`.
    private static func edit(_ words: [Substring], _ writer: LocalWriter) throws {
        let property = try property(words[words.count - 1])
        let row = try #require(try writer.row(object))
        guard case .list(let values) = row.values[property] else { return }
        let subject = try value(words[1])
        func position(of value: Value, in values: [Value]) throws -> Int { try #require(values.firstIndex(of: value)) }
        func destination(in values: [Value]) throws -> Int {
            words[2] == "first" ? 0 : try position(of: try value(words[3]), in: values) + 1
        }
        switch words[0] {
        case "insert":
            let position = try destination(in: values)
            try writer.edit(property, of: object) {
                .inserting([subject], at: position, in: $0, by: $1)
            } or: {
                $0
            }
        case "move":
            let old = try position(of: subject, in: values)
            let new = try destination(in: values.filter { $0 != subject })
            try writer.edit(property, of: object) {
                .moving(from: old, to: new, in: $0, by: $1)
            } or: {
                $0
            }
        case "remove", "replace":
            let new = try words[0] == "remove" ? [] : [value(words[3])]
            let changed = values.flatMap { $0 == subject ? new : [$0] }
            try writer.update(object, [writer.difference(from: row, to: .list(changed), of: property)])
        default: Issue.record("\(words) is no operation")
        }
    }
}
