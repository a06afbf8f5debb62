internal import FoundationEssentials

extension FieldOperation.Change {
    /// The value that results from applying this change to `value`. Edits of lists have no effect on a value alone, which
    /// does not say what its elements are: see ``Row/apply(_:)``.
    package func applied(to value: Value) -> Value {
        switch (self, value) {
        case (.set(let new), _), (.setDefault(let new), _): new
        case (.add(.int(let amount)), .int(let number)): .int(number &+ amount)
        case (.add(.double(let amount)), .double(let number)): .double(number + amount)
        case (.add(.float(let amount)), .float(let number)): .float(number + amount)
        case (.add(.decimal(let amount)), .decimal(let number)): .decimal(number + amount)
        case (.add, _): value
        case (.clear, .list): .list([])
        case (.clear, .set): .set([])
        case (.clear, .map): .map(ValueMap())
        case (.clear, _): value
        case (.edit(let edits), _): edits.applied(to: value)
        case (.editList, _): value
        }
    }

    /// The change that makes one value of a property of another: edits of a collection, so that those of others at the
    /// same time count too, and otherwise the new value. A collection that loses several elements, and keeps none, is
    /// emptied. One that loses its only element loses that element, and what others insert meanwhile stays.
    ///
    /// - Parameters:
    ///   - old: the object as it is.
    ///   - author: who changes it.
    package static func difference(
        from old: Row, to new: Value, of property: Int, by author: @autoclosure () -> ListEdits.Author
    ) -> FieldOperation.Change {
        if case .list(let values) = new {
            guard let list = old.list(of: property) else { return .set(new) }
            if values.isEmpty, list.count > 1 { return .clear }
            let edits = ListEdits.difference(from: list, to: values, by: author())
            return edits.map { .editList($0) } ?? .set(new)
        }
        return difference(from: old.values[property], to: new)
    }

    /// The same for a value that is no list.
    package static func difference(from old: Value, to new: Value) -> FieldOperation.Change {
        guard let edits = ElementEdits.difference(from: old, to: new), !edits.isEmpty else { return .set(new) }
        return new.isEmptyCollection && edits.count > 1 ? .clear : .edit(edits)
    }
}

extension Value {
    package var isCollection: Bool {
        switch self {
        case .list, .set, .map: true
        case .null, .bool, .int, .float, .double, .string, .data, .date, .uuid, .objectID, .decimal, .link: false
        }
    }

    fileprivate var isEmptyCollection: Bool {
        switch self {
        case .list(let elements), .set(let elements): elements.isEmpty
        case .map(let map): map.entries.isEmpty
        default: false
        }
    }
}

extension Row {
    /// Applies field operations in order. The properties that they set are present from then on; of a collection that is
    /// absent, edits say too little.
    package mutating func apply(_ fields: [FieldOperation]) {
        for field in fields { apply(field) }
    }

    package mutating func apply(_ field: FieldOperation) {
        let property = field.property
        switch field.change {
        case .editList(let edits): apply(edits, to: property)
        case .edit where absent.contains(property): break
        case .set, .setDefault, .clear, .add, .edit:
            set(field.change.applied(to: values[property]), of: property)
            absent.remove(property)
        }
    }

    private mutating func apply(_ edits: ListEdits, to property: Int) {
        if !absent.contains(property) { edit(property) { _ in edits } }
    }
}
