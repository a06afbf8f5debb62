internal import FoundationEssentials

extension Value: CustomStringConvertible {
    /// The value as a person would write it: text in quotation marks, data as its length, collections in brackets.
    public var description: String {
        switch self {
        case .null: "null"
        case .bool(let value): String(value)
        case .int(let value): String(value)
        case .float(let value): String(value)
        case .double(let value): String(value)
        case .string(let value): "\"\(value)\""
        case .data(let value): "<\(value.count) bytes>"
        case .date(let value): value.description
        case .uuid(let value): value.uuidString.lowercased()
        case .objectID(let value): value.description
        case .decimal(let value): value.description
        case .link(let key): "→\(key)"
        case .list(let elements): "[\(elements.map(\.description).joined(separator: ", "))]"
        case .set(let elements): "{\(elements.map(\.description).joined(separator: ", "))}"
        case .map(let map): "{\(map.entries.map { "\"\($0.key)\": \($0.value)" }.joined(separator: ", "))}"
        }
    }
}
