internal import SluiceModel

/// `--type=COLUMN:TYPE`: sets the type of a column's property, whatever the file suggests.
struct TypeOption: Hashable, Sendable {
    let column: String
    let type: PropertyType

    /// - Throws: ``CommandError`` of kind `usage`.
    init(_ text: String) throws(CommandError) {
        // A column's name may contain colons. Types contain none, except those of maps, which cannot be asked for.
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

    /// Parses a type as schemas print it: `int`, `int?`, `[int]`, `[int?]`.
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
