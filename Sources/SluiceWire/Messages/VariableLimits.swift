package import SluiceModel

/// What `$client` variables may be. Both sides check it: a client before it sends them, a server before it keeps them.
package enum VariableLimits {
    /// The most variables of one client.
    package static let countMax = 64
    /// The longest name, in bytes of UTF-8.
    package static let nameByteCountMax = 64
    /// The most elements of one list.
    package static let elementCountMax = 10_000
    /// The most bytes of all names and values together, as they travel.
    package static let byteCountMax = 1 << 20

    /// What is wrong with variables; nil if nothing is. It names variables and no values.
    package static func problem(with variables: ValueMap) -> String? {
        guard variables.entries.count <= countMax else {
            return "\(variables.entries.count) variables; a client has at most \(countMax)"
        }
        for entry in variables.entries {
            guard isName(entry.key) else {
                return "'\(entry.key.prefix(nameByteCountMax))' is no name of a variable: letters, digits and _, "
                    + "\(nameByteCountMax) bytes at most, no digit first"
            }
            switch entry.value {
            case .list(let elements), .set(let elements):
                guard elements.count <= elementCountMax else {
                    return
                        "the variable '\(entry.key)' has \(elements.count) elements; at most \(elementCountMax) are taken"
                }
                guard elements.allSatisfy(isScalar) else {
                    return "the variable '\(entry.key)' is a list of something else than single values"
                }
            default:
                guard isScalar(entry.value) else {
                    return "the variable '\(entry.key)' is neither a single value nor a list of such"
                }
            }
        }
        let byteCount = variables.wireBytes().count
        return byteCount <= byteCountMax
            ? nil : "the variables take \(byteCount) bytes; at most \(byteCountMax) are taken"
    }

    private static func isScalar(_ value: Value) -> Bool { value.scalarType != nil && !value.isNull }

    private static func isName(_ name: String) -> Bool {
        let bytes = name.utf8
        guard let first = bytes.first, bytes.count <= nameByteCountMax, !isDigit(first) else { return false }
        return bytes.allSatisfy { isDigit($0) || $0 == 0x5F || (0x41...0x5A).contains($0 & 0xDF) && $0 < 0x80 }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
