internal import SluiceModel

/// `--type=COLUMN:TYPE`: a column whose property is of this type, whatever the file suggests.
struct TypeOption: Hashable, Sendable {
    let column: String
    let type: PropertyType

    /// - Throws: ``CommandError`` of kind `usage`.
    init(_ text: String) throws(CommandError) {
        // Columns may have colons in their names, types have none but in maps, which cannot be asked for.
        guard let colon = text.lastIndex(of: ":"), colon > text.startIndex else {
            throw .usage("--type=\(text): write --type=COLUMN:TYPE, such as --type=delay:int?")
        }
        column = String(text[..<colon])
        guard let type = Self.type(text[text.index(after: colon)...]) else {
            let names = ScalarType.allCases.map(\.rawValue).joined(separator: ", ")
            throw .usage(
                "--type=\(text): TYPE is one of \(names), with '?' behind it where null is allowed, or in brackets for a list"
            )
        }
        self.type = type
    }

    /// A type as schemas print it: `int`, `int?`, `[int]`, `[int?]`.
    private static func type(_ text: Substring) -> PropertyType? {
        if text.hasPrefix("["), text.hasSuffix("]") {
            guard var type = Self.type(text.dropFirst().dropLast()), !type.isCollection else { return nil }
            type.container = .list
            return type
        }
        let isOptional = text.hasSuffix("?")
        let name = isOptional ? text.dropLast() : text
        return ScalarType(rawValue: String(name)).map { .scalar($0, isOptional: isOptional) }
    }
}
