internal import SluiceModel

/// Collects the steps and names of a path while it is checked.
struct PathBuilder {
    let schema: Schema
    let scope: Int
    var steps: [Query.Path.Step] = []
    var names: [String] = []
    var classIndex: Int

    /// Whether the last step is a to-one link, which can lead nowhere.
    private var canBreak: Bool { steps.last.map { !$0.isToMany } ?? false }

    mutating func follow(_ property: Int, to targetClass: Int, isToMany: Bool, selection: Query.Path.Selection? = nil) {
        steps.append(
            Query.Path.Step(
                sourceClass: classIndex, classIndex: classIndex, property: property, targetClass: targetClass,
                isToMany: isToMany && selection == nil, selection: selection))
        classIndex = targetClass
    }

    mutating func follow(_ backlink: Query.Path.Backlink) {
        steps.append(
            Query.Path.Step(
                sourceClass: classIndex, classIndex: backlink.classIndex, property: backlink.property,
                targetClass: backlink.classIndex, isToMany: true, isBacklink: true))
        classIndex = backlink.classIndex
    }

    /// The path that ends at the object reached.
    func object() -> Query.Path { path(.object, .link(classIndex), canBeNull: canBreak) }

    /// The path that ends at a number.
    func number(_ leaf: Query.Path.Leaf, text: String) -> Query.Path {
        var builder = self
        builder.names.append(text)
        return builder.path(leaf, .scalar(.int), canBeNull: false)
    }

    /// The path that reads a property as its type suggests.
    func path(endingAt property: Int, _ declared: Property) -> Query.Path {
        if declared.type.isCollection { return path(.elements(property), declared) }
        return path(declared.type.element.isLink ? .link(property) : .value(property), declared)
    }

    func path(_ leaf: Query.Path.Leaf, _ declared: Property) -> Query.Path {
        let type: Query.Path.ValueType =
            switch declared.type.element {
            case .scalar(let scalar): .scalar(scalar)
            case .link(let target): .link(schema.index(of: target) ?? -1)
            }
        switch leaf {
        case .value: return path(leaf, type, canBeNull: canBreak || declared.type.isOptional)
        case .elements: return path(leaf, type, canBeNull: declared.type.isOptional && !declared.type.element.isLink)
        case .size: return path(leaf, .scalar(.int), canBeNull: canBreak || declared.type.isOptional)
        case .keys: return path(leaf, .scalar(.string), canBeNull: false)
        case .count, .presence: return path(leaf, .scalar(.int), canBeNull: false)
        case .object, .link, .entry, .element, .whole, .backlinkCount, .aggregate, .subquery:
            return path(leaf, type, canBeNull: true)
        }
    }

    func path(_ leaf: Query.Path.Leaf, _ type: Query.Path.ValueType, canBeNull: Bool) -> Query.Path {
        Query.Path(
            scope: scope, steps: steps, leafClass: classIndex, leaf: leaf, type: type, canBeNull: canBeNull,
            text: Self.join(names))
    }

    /// Joins names by dots, except before brackets.
    static func join(_ names: [String]) -> String {
        var text = ""
        for name in names {
            if !text.isEmpty, name.utf8.first != UInt8(ascii: "[") { text += "." }
            text += name
        }
        return text
    }
}
