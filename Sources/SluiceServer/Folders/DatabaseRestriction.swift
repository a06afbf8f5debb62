internal import SluiceJSON
internal import SluiceModel

/// Which databases clients may open. The server's own program may open any.
public struct DatabaseRestriction: Sendable, Hashable {
    /// The names of the databases; nil for any.
    public var names: Set<String>?
    /// Whether clients may open a database that is not there yet. The first class that one declares makes it.
    public var allowsNew: Bool
    /// The databases that are closed for now, since a command deletes them.
    package var closed: Set<String> = []

    /// - Parameters:
    ///   - names: the names of the databases; nil for any.
    ///   - allowsNew: whether clients may open a database that is not there yet.
    public init(names: Set<String>? = nil, allowsNew: Bool = true) {
        self.names = names
        self.allowsNew = allowsNew
    }

    /// What stands for the databases in logs: their names, or words.
    package var summary: String {
        let which = names.map { $0.isEmpty ? "none" : $0.sorted().joined(separator: ", ") } ?? "any"
        return allowsNew ? which : which + ", none of them new"
    }
}

extension DatabaseRestriction {
    /// Why a text says no restriction.
    struct Problem: Error {
        let message: String
    }

    private static let members = ["names", "new", "closed"]

    /// Reads what ``text`` writes.
    init(_ text: String) throws(Problem) {
        let json: JSONValue
        do throws(JSONError) { json = try JSONParser.parse(text) } catch {
            throw Problem(message: "it is not JSON at byte \(error.position): \(error.message)")
        }
        guard case .object(let members) = json else { throw Problem(message: "it is no JSON object") }
        if let other = members.first(where: { !Self.members.contains($0.name) }) {
            throw Problem(message: "it has \"names\", \"new\" and \"closed\", and no '\(other.name.prefix(64))'")
        }
        self.init()
        if let value = json["names"], value != .null { names = try Self.names(value, "names") }
        if let value = json["closed"] { closed = try Self.names(value, "closed") }
        switch json["new"] {
        case nil: break
        case .bool(let isAllowed): allowsNew = isAllowed
        default: throw Problem(message: "\"new\" is true or false")
        }
    }

    private static func names(_ value: JSONValue, _ member: String) throws(Problem) -> Set<String> {
        guard let elements = value.array else { throw Problem(message: "\"\(member)\" is a list of names") }
        var names: Set<String> = []
        for element in elements {
            guard let name = element.string, DatabaseName.isValid(name) else {
                throw Problem(
                    message: "\"\(member)\" has an element that is no name of a database: 1 to 64 letters, digits, '_' "
                        + "and '-'")
            }
            names.insert(name)
        }
        return names
    }

    var text: String {
        func list(_ names: Set<String>) -> JSONText { .array(names.sorted().map { .string($0) }) }
        return JSONText.object([
            ("names", names.map(list) ?? .null), ("new", .bool(allowsNew)), ("closed", list(closed)),
        ]).text + "\n"
    }
}
