internal import FoundationEssentials
internal import SluiceJSON
internal import SluiceModel

/// Reads the members of one object of a text message, and refuses those that it does not know.
struct JSONMembers {
    /// What the object is, for messages.
    private let name: String
    private let members: [String: JSONValue]

    /// - Parameter known: the names that the object may have.
    /// - Throws: ``JSONRequestError`` where it is no object or has others.
    init(_ json: JSONValue, _ name: String, known: [String]) throws(JSONRequestError) {
        guard case .object(let members) = json else { throw JSONRequestError(message: "\(name) is no object") }
        for member in members where !known.contains(member.name) {
            throw JSONRequestError(
                message:
                    "\(name) has no member '\(member.name.prefix(64))'; it may have \(known.joined(separator: ", "))")
        }
        self.name = name
        self.members = Dictionary(members.map { ($0.name, $0.value) }) { $1 }
    }

    subscript(member: String) -> JSONValue? { members[member] }

    private func fault(_ member: String, _ what: String) -> JSONRequestError {
        JSONRequestError(
            message: members[member] == nil
                ? "\(name) lacks its member '\(member)', \(what)" : "'\(member)' of \(name) is not \(what)")
    }

    func text(_ member: String) throws(JSONRequestError) -> String {
        guard let text = members[member]?.string else { throw fault(member, "a string") }
        return text
    }

    func optionalText(_ member: String) throws(JSONRequestError) -> String? {
        members[member] == nil ? nil : try text(member)
    }

    /// A whole number from 0 to 2^53 − 1, which every reader of JSON keeps exactly.
    func number(_ member: String) throws(JSONRequestError) -> UInt64 {
        guard let number = members[member]?.safeNumber else { throw fault(member, "a whole number from 0 to 2^53 - 1") }
        return number
    }

    func optionalNumber(_ member: String) throws(JSONRequestError) -> UInt64? {
        members[member] == nil ? nil : try number(member)
    }

    func flag(_ member: String) throws(JSONRequestError) -> Bool {
        switch members[member] {
        case nil: false
        case .bool(let flag)?: flag
        default: throw fault(member, "true or false")
        }
    }

    func array(_ member: String) throws(JSONRequestError) -> [JSONValue] {
        guard let elements = members[member]?.array else { throw fault(member, "an array") }
        return elements
    }

    /// Bytes in base64.
    func data(_ member: String) throws(JSONRequestError) -> [UInt8] {
        guard let data = Data(base64Encoded: try text(member)) else { throw fault(member, "bytes in base64") }
        return Array(data)
    }
}

extension JSONValue {
    /// The value if it is a whole number from 0 to 2^53 − 1, which every reader of JSON keeps exactly.
    var safeNumber: UInt64? {
        guard case .integer(let number) = self, (0..<1 << 53).contains(number) else { return nil }
        return UInt64(number)
    }

    /// The value without knowing its type, as arguments of queries and variables of rules are.
    ///
    /// - Throws: ``JSONRequestError`` for an object.
    func untyped(_ name: String) throws(JSONRequestError) -> Value {
        switch self {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .integer(let value): return .int(value)
        case .string(let value): return .string(value)
        case .number(let literal):
            guard let value = Double(literal), value.isFinite else {
                throw JSONRequestError(message: "a number in \(name) is out of range")
            }
            return .double(value)
        case .array(let elements):
            var values: [Value] = []
            for element in elements { values.append(try element.untyped(name)) }
            return .list(values)
        case .object: throw JSONRequestError(message: "\(name) has an object where a value is expected")
        }
    }
}
