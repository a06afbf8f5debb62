internal import SluiceModel

/// What `print` and `dump` show of a model: its properties, and nothing of what travels with them. `@Model` adds the
/// conformances to `CustomStringConvertible`, `CustomDebugStringConvertible` and `CustomReflectable`; a ``KeyPathModel``
/// names those that it wants.
extension Model {
    /// The type and its properties, as far as 300 characters go: `Car(vin: "V1", price: 9000.0)`. A property that a query
    /// excluded shows as `absent`. Of an object of a keyless class it begins with the id.
    public var description: String {
        let definition = Self.modelDefinition
        var rest = BoundedText.characterCountMax
        var parts = definition.primaryKey == nil ? ["id \(objectID)"] : []
        for (index, column) in definition.columns.enumerated() {
            guard rest > 0 else {
                parts.append("…")
                break
            }
            let text =
                objectMetadata.absent.contains(index) ? "absent" : Self.text(self[keyPath: column.keyPath], rest)
            parts.append("\(column.property.name): \(text)")
            rest -= parts[parts.count - 1].count
        }
        return "\(Self.self)(\(parts.joined(separator: ", ")))"
    }

    /// As ``description``.
    public var debugDescription: String { description }

    /// The properties by their names in the schema.
    public var customMirror: Mirror {
        let definition = Self.modelDefinition
        return Mirror(
            self, children: definition.columns.map { (label: $0.property.name, value: self[keyPath: $0.keyPath]) },
            displayStyle: .struct)
    }

    /// The text of a property's value, of which no more is made than is shown.
    private static func text(_ value: Any, _ countMax: Int) -> String {
        switch value {
        case let text as String: "\"\(cut(text, countMax))\""
        case let value as any PropertyValue: text(of: value, countMax)
        default: cut(String(reflecting: value), countMax)
        }
    }

    private static func text(of value: some PropertyValue, _ countMax: Int) -> String {
        switch value.propertyValue {
        case .null: "nil"
        case .list(let elements) where elements.count > countMax: "[\(elements.count) elements]"
        case .set(let elements) where elements.count > countMax: "{\(elements.count) elements}"
        case .map(let map) where map.entries.count > countMax: "{\(map.entries.count) entries}"
        case .string(let text): "\"\(cut(text, countMax))\""
        case let value: cut(value.description, countMax)
        }
    }

    private static func cut(_ text: String, _ countMax: Int) -> String {
        // Counting the characters of a long text takes long.
        guard text.utf8.count > countMax,
            let end = text.index(text.startIndex, offsetBy: countMax, limitedBy: text.endIndex),
            end != text.endIndex
        else { return text }
        return text[..<end] + "…"
    }
}
