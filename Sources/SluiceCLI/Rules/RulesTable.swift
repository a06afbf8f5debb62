internal import SluiceExchange
internal import SluiceJSON
internal import SluiceModel
internal import SluiceRules

/// A table of what users may do with some objects, to be compared with what rules say.
///
/// ```json
/// {"objects": {"User": [{"id": "ada"}], "Document": [{"id": "d1", "owner": "ada"}]},
///  "tests": [{"user": "ada", "action": "update", "object": "Document/d1", "set": {"salary": 7}, "expected": "denied"},
///            {"user": {"id": "bob", "claims": {"role": "admin"}}, "reads": "Document", "expected": ["d1"]}]}
/// ```
struct RulesTable {
    private let rules: Rules
    private let schema: Schema
    private let objects: MemoryObjects
    private let tests: [JSONValue]

    /// - Throws: ``CommandError`` that says what of the table is wrong.
    init(_ bytes: [UInt8], rules: Rules) throws(CommandError) {
        self.rules = rules
        schema = rules.schema
        let table: JSONValue
        do throws(JSONError) {
            table = try bytes.withUnsafeBufferPointer { (bytes) throws(JSONError) in try JSONParser.parse(bytes) }
        } catch {
            throw .failure("the table is not JSON at byte \(error.position): \(error.message)")
        }
        guard case .object(let members) = table, let tests = table["tests"]?.array else {
            throw .failure("the table is an object with \"objects\" and an array \"tests\"")
        }
        if let other = members.first(where: { !["objects", "tests"].contains($0.name) }) {
            throw .failure("the table has \"objects\" and \"tests\", and no '\(DisplayText.shortened(other.name))'")
        }
        self.tests = tests
        var rows: [ObjectRef: Row] = [:]
        if case .object(let classes)? = table["objects"] {
            for entry in classes {
                for (index, object) in (entry.value.array ?? []).enumerated() {
                    let (classIndex, row) = try Self.row(object, entry.name, index, rules.schema)
                    rows[ObjectRef(classIndex, row.key)] = row
                }
            }
        }
        objects = MemoryObjects(rules.schema, rows: rows)
    }

    var count: Int { tests.count }

    /// What is not as the table expects, in its order.
    func failures() throws -> [String] {
        try tests.enumerated().flatMap { index, test -> [String] in
            guard let failure = try failure(of: test) else { return [] }
            let (user, _) = try Self.user(test["user"] ?? .null)
            let misuses = rules.file.claimMisuses(of: user.claims)
            return ["test \(index + 1): \(failure)"] + misuses.map { "  \($0)" }
        }
    }

    /// The lines that are about a test of their own, and no more about it.
    static func isOfTest(_ line: String) -> Bool { !line.hasPrefix(" ") }

    // MARK: Objects

    private static func row(
        _ json: JSONValue, _ className: String, _ index: Int, _ schema: Schema
    ) throws(CommandError) -> (Int, Row) {
        guard let classIndex = schema.index(of: className) else {
            throw .failure("objects: there is no class '\(DisplayText.shortened(className))'")
        }
        let declared = schema[classIndex]
        var row = Row(key: .int(0), version: 1, values: declared.properties.map(\.defaultValue))
        if declared.primaryKey == nil {
            guard let id = json["@id"]?.string.flatMap({ ObjectID($0) }) else {
                throw .failure("objects.\(className)[\(index)] needs an \"@id\" of 32 hexadecimal digits")
            }
            row.key = .id(id)
        }
        row = try row.setting(json, of: className, in: schema)
        if let position = declared.primaryKeyIndex {
            guard let key = ObjectKey(primaryKey: row.values[position]) else {
                throw .failure("objects.\(className)[\(index)] needs its key '\(declared.primaryKey ?? "")'")
            }
            row.key = key
        }
        return (classIndex, row)
    }

    // MARK: Tests

    private static let members = ["user", "client", "action", "object", "set", "reads", "expected"]

    private func failure(of test: JSONValue) throws -> String? {
        guard case .object(let members) = test else { throw CommandError.failure("a test is an object") }
        if let other = members.first(where: { !Self.members.contains($0.name) }) {
            throw CommandError.failure(
                "a test has \(Self.members.joined(separator: ", ")), and no '\(DisplayText.shortened(other.name))'")
        }
        let (user, name) = try Self.user(test["user"] ?? .null)
        let binding = try bind(user, client: client(test["client"]))
        if let className = test["reads"]?.string {
            guard let classIndex = schema.index(of: className), let expected = test["expected"]?.array else {
                throw CommandError.failure("\"reads\" names a class, and \"expected\" is then an array of keys")
            }
            let condition = binding.condition(of: .read, onClass: classIndex)
            let keys = try objects.rows(ofClass: classIndex).filter { try condition?.allows($0, in: objects) ?? false }
                .map(\.key.description)
            let wanted = expected.map { $0.string ?? $0.text }.sorted()
            guard keys.sorted() != wanted else { return nil }
            return "\(name) reads \(className): expected \(list(wanted)), found \(list(keys)); the rule "
                + "\(className).read is \(condition?.text ?? "FALSEPREDICATE")"
        }
        return try failure(of: test, binding, name)
    }

    private func list(_ keys: [String]) -> String { keys.isEmpty ? "none" : keys.joined(separator: ", ") }

    private func failure(of test: JSONValue, _ binding: Binding, _ name: String) throws -> String? {
        guard let actionName = test["action"]?.string, let object = test["object"]?.string,
            let expected = test["expected"]?.string, ["allowed", "denied", "missing"].contains(expected)
        else {
            throw CommandError.failure(
                "a test needs an \"action\", an \"object\" and \"expected\": allowed, denied or missing")
        }
        let parts = object.split(separator: "/", maxSplits: 1).map(String.init)
        guard let action = RuleAction(rawValue: actionName), action != .updateAfter,
            let className = parts.first, let classIndex = schema.index(of: className),
            parts.count == (action == .create ? 1 : 2)
        else {
            throw CommandError.failure(
                "\(actionName) of '\(object)': an action is read, update or delete of CLASS/KEY, or create of CLASS")
        }
        let set = test["set"] ?? .object([])
        let verdict = try verdict(action, classIndex, parts.last ?? "", set, binding)
        let (word, reason) =
            switch verdict {
            case .allowed: ("allowed", "")
            case .missing: ("missing", "")
            case .denied(let denial): ("denied", ": \(denial)")
            }
        guard word != expected else { return nil }
        return "\(name) \(actionName) \(object): expected \(expected), found \(word)\(reason)"
            + rules(behind: verdict, of: action, classIndex, set, binding)
    }

    /// Names the rules that led to a verdict: the one that denies, or all that allow.
    private func rules(
        behind verdict: RuleVerdict, of action: RuleAction, _ classIndex: Int, _ set: JSONValue, _ binding: Binding
    ) -> String {
        var written = PropertySet()
        if case .object(let members) = set {
            for position in members.compactMap({ schema[classIndex].index(of: $0.name) }) { written.insert(position) }
        }
        var rules = binding.namedRules(for: action, onClass: classIndex, writing: written)
        switch verdict {
        case .allowed: break
        case .missing: rules = binding.namedRules(for: .read, onClass: classIndex, writing: [])
        case .denied(let denial):
            guard let name = denial.ruleName else { return "" }
            // Of an update, the rule that the result is judged by may be that of the object before it.
            rules = rules.filter { $0.name == name || name.hasSuffix(".updateAfter") && $0.name.hasSuffix(".update") }
                .suffix(1)
        }
        let texts = rules.map { "\($0.name) is \($0.condition)" }
        return texts.isEmpty ? "" : "; the rule \(texts.joined(separator: "; the rule "))"
    }

    private func verdict(
        _ action: RuleAction, _ classIndex: Int, _ key: String, _ set: JSONValue, _ binding: Binding
    ) throws -> RuleVerdict {
        let className = schema[classIndex].name
        if action == .create {
            let (_, row) = try Self.row(set, className, 0, schema)
            let object = ObjectRef(classIndex, row.key)
            guard try objects.row(object) == nil else {
                throw CommandError.failure("create of \(className): the object '\(row.key)' is there already")
            }
            return try binding.verdict(
                onClass: classIndex, before: nil, after: row, changed: row.changes(from: nil, in: schema[classIndex]),
                old: objects, new: objects.replacing(object, by: row))
        }
        let found = objects.rows(ofClass: classIndex).first { $0.key.description == key }
        guard let row = found else { throw CommandError.failure("there is no object \(className)/\(key)") }
        let object = ObjectRef(classIndex, row.key)
        switch action {
        case .read:
            let allows = try binding.condition(of: .read, onClass: classIndex)?.allows(row, in: objects) ?? false
            return allows ? .allowed : .missing
        case .delete:
            return try binding.verdict(
                onClass: classIndex, before: row, after: nil, changed: [], old: objects,
                new: objects.replacing(object, by: nil))
        default:
            let after = try row.setting(set, of: className, in: schema)
            return try binding.verdict(
                onClass: classIndex, before: row, after: after,
                changed: after.changes(from: row, in: schema[classIndex]), old: objects,
                new: objects.replacing(object, by: after))
        }
    }

    // MARK: Users

    /// A user, and how messages call it.
    private static func user(_ json: JSONValue) throws(CommandError) -> (RuleUser, String) {
        switch json {
        case .null: return (RuleUser(id: nil), "nobody")
        case .string(let id): return (RuleUser(id: id), id)
        case .object:
            let id = json["id"]?.string
            return (RuleUser(id: id, claims: json["claims"] ?? .object([])), id ?? "nobody")
        default: throw .failure("a user is an id, null, or an object with \"id\" and \"claims\"")
        }
    }

    private func client(_ json: JSONValue?) throws(CommandError) -> ClientVariables {
        guard case .object(let members)? = json else { return [:] }
        var variables: ClientVariables = [:]
        for member in members { variables[member.name] = Self.value(member.value) }
        return variables
    }

    private static func value(_ json: JSONValue) -> Value {
        switch json {
        case .null, .object: .null
        case .bool(let isTrue): .bool(isTrue)
        case .integer(let number): .int(number)
        case .number(let digits): Array(digits.utf8).withUnsafeBufferPointer { NumberReading.value($0) } ?? .null
        case .string(let text): .string(text)
        case .array(let elements): .list(elements.map(value))
        }
    }

    /// Binds the rules with the facts that the objects say.
    private func bind(_ user: RuleUser, client: ClientVariables) throws -> Binding {
        var results: RuleFactResults = [:]
        while true {
            let new = rules.facts(of: user, client: client, given: results).filter { results[$0.id] == nil }
            if new.isEmpty { return rules.bind(user, client: client, facts: results) }
            for fact in new { results[fact.id] = try objects.keys(matching: fact.query) }
        }
    }
}

extension Row {
    /// The same object with other values.
    fileprivate func setting(
        _ json: JSONValue, of className: String, in schema: Schema
    ) throws(CommandError) -> Row {
        guard case .object(let members) = json, let declared = schema.classSchema(named: className) else {
            throw .failure("the values of an object of \(className) are an object of property names and values")
        }
        var row = self
        for member in members where member.name != "@id" {
            guard let position = declared.index(of: member.name) else {
                throw .failure("\(className) has no property '\(DisplayText.shortened(member.name))'")
            }
            do throws(ConversionError) {
                let codec = PropertyCodec(declared.properties[position].type, schema: schema)
                row.values[position] = try codec.value(json: member.value)
            } catch { throw .failure("\(className).\(member.name): \(error.message)") }
        }
        return row
    }

    /// The properties in which this differs from another version, or a new object from its defaults.
    fileprivate func changes(from before: Row?, in declared: ClassSchema) -> PropertySet {
        PropertySet(
            values.indices.filter { position in
                values[position] != (before?.values[position] ?? declared.properties[position].defaultValue)
            })
    }
}
