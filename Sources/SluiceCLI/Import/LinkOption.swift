/// `--link=COLUMN:CLASS[:PROPERTY]`: makes a link of a column that holds keys of another class.
struct LinkOption: Hashable, Sendable {
    let column: String
    let targetClass: String
    /// The name of the property; nil for that of the column.
    let property: String?

    /// - Throws: ``CommandError`` of kind `usage`.
    init(_ text: String) throws(CommandError) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard (2...3).contains(parts.count), !parts.contains("") else {
            throw .usage("--link=\(text): write --link=COLUMN:CLASS or --link=COLUMN:CLASS:PROPERTY")
        }
        column = parts[0]
        targetClass = parts[1]
        property = parts.count == 3 ? parts[2] : nil
        for name in parts[1...] {
            guard PropertyName.make(of: name) == name else {
                throw .usage("--link=\(text): '\(name)' cannot name a class or property")
            }
        }
    }
}
