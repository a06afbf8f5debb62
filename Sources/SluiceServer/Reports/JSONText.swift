internal import SluiceModel

/// A JSON value with its members in a given order.
indirect enum JSONText {
    case string(String)
    case number(UInt64)
    case bool(Bool)
    case null
    case array([JSONText])
    case object([(String, JSONText)])
    /// Text that is JSON already.
    case raw(String)

    var text: String {
        switch self {
        case .string(let value): Self.quote(value)
        case .number(let value): String(value)
        case .bool(let value): value ? "true" : "false"
        case .null: "null"
        case .raw(let text): text
        case .array(let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
        case .object(let members): "{" + members.map { Self.quote($0.0) + ":" + $0.1.text }.joined(separator: ",") + "}"
        }
    }

    private static func quote(_ value: String) -> String {
        var quoted = "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\u{0}"..<" ": quoted += "\\u00" + Hexadecimal.encode(CollectionOfOne(UInt8(scalar.value)))
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
