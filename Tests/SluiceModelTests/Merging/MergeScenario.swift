import SluiceModel

/// A line of a table of rules: `start {a b}; A at 1: insert c; B at 2: erase a; expected {b c}`.
///
/// A value is a number, a set `{a b}`, a map `[k=v l=w]`, or `deleted`. The people A, B and C know the start and nothing
/// of each other. Each part is one transaction, with operations separated by commas:
///
/// - on the object: `delete`, `create VALUE`
/// - on the object: `default VALUE`, which creates it with a value that nobody chose
/// - on any property: `set VALUE`; on a number also `add N`; on a collection also `clear`
/// - on a set: `insert NAME`, `erase NAME`; on a map: `put KEY=VALUE`, `erase KEY`
struct MergeScenario {
    struct ParsingError: Error, CustomStringConvertible {
        var description: String
    }

    let start: Value?
    let uploads: [MergingServer.Upload]
    let expected: Value?
    /// The words for the operations, in the order of their times.
    let kinds: [String]
    let property: Int

    init(_ text: String) throws {
        var start: Value??
        var expected: Value??
        var parts: [(client: UInt64, time: Int64, operations: [Substring])] = []
        for part in text.split(separator: ";") {
            let words = part.split(separator: " ", maxSplits: 1)
            switch words[0] {
            case "start": start = .some(try Self.value(words[1]))
            case "expected": expected = .some(try Self.value(words[1]))
            default:
                let halves = part.split(separator: ":", maxSplits: 1)
                let head = halves[0].split(separator: " ")
                guard halves.count == 2, head.count == 3, head[1] == "at", let time = Int64(head[2]),
                    let client = ["A": 1, "B": 2, "C": 3][head[0]] as UInt64?
                else { throw ParsingError(description: "'\(part)' is not of the form 'A at 1: operation'") }
                parts.append((client, time, halves[1].split(separator: ",")))
            }
        }
        guard let start, let expected else {
            throw ParsingError(description: "a start or an expectation is missing")
        }
        self.start = start
        self.expected = expected
        let position =
            switch start ?? expected {
            case .set: 2
            case .map: 3
            default: 1
            }
        property = position
        kinds = parts.sorted { $0.time < $1.time }.flatMap { part in
            part.operations.map { String($0.split(separator: " ")[0]) }
        }
        uploads = try parts.map { part in
            MergingServer.Upload(
                client: part.client, time: part.time,
                actions: try part.operations.map { try Self.action($0, position) })
        }
    }

    private static func action(_ text: Substring, _ property: Int) throws -> ObjectOperation.Action {
        let words = text.split(separator: " ", maxSplits: 1)
        let rest = words.count > 1 ? words[1] : ""
        func update(_ change: FieldOperation.Change) -> ObjectOperation.Action {
            .update([FieldOperation(property, change)])
        }
        switch words[0] {
        case "delete": return .delete
        case "create":
            return .create(try value(rest).map { [FieldOperation(property, .set($0))] } ?? [])
        case "default":
            return .create(try value(rest).map { [FieldOperation(property, .setDefault($0))] } ?? [])
        case "set": return update(.set(try value(rest) ?? .null))
        case "add": return update(.add(.int(Int64(rest) ?? 0)))
        case "clear": return update(.clear)
        case "insert": return update(.edit(ElementEdits(inserting: [.string(String(rest))])))
        case "put": return update(.edit(ElementEdits(setting: entries(rest))))
        case "erase" where property == 2:
            return update(.edit(ElementEdits(inserting: [], erasing: [.string(String(rest))])))
        case "erase": return update(.edit(ElementEdits(setting: [], erasing: [String(rest)])))
        default: throw ParsingError(description: "'\(text)' is no operation")
        }
    }

    private static func entries(_ text: Substring) -> [ValueMap.Entry] {
        text.split(separator: " ").map { entry in
            let halves = entry.split(separator: "=")
            return ValueMap.Entry(key: String(halves[0]), value: .string(String(halves[1])))
        }
    }

    private static func value(_ text: Substring) throws -> Value? {
        let text = text.drop { $0 == " " }
        let inner = text.dropFirst().dropLast()
        switch text.first {
        case "{": return .set(of: inner.split(separator: " ").map { .string(String($0)) })
        case "[": return .map(ValueMap(entries(inner).map { ($0.key, $0.value) }))
        default:
            if text == "deleted" { return nil }
            guard let number = Int64(text) else {
                throw ParsingError(description: "'\(text)' is no value")
            }
            return .int(number)
        }
    }

    /// What the server has after the transactions in each order in which they can arrive.
    func outcomes() throws -> [Value?] {
        try deliveries(of: uploads).map { order in
            var server = try MergingServer()
            if let start {
                server.accept(
                    .init(client: 9, time: 0, actions: [.create([FieldOperation(property, .set(start))])]))
            }
            let base = server.version
            for var upload in order {
                upload.base = base
                server.accept(upload)
            }
            return server.row?.values[property]
        }
    }
}
