internal import FoundationEssentials

extension FieldOperation.Change {
    /// The value that results from applying this change to `value`.
    package func applied(to value: Value) -> Value {
        switch (self, value) {
        case (.set(let new), _): new
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
        }
    }

    /// The change that leads back to `value` from what this one makes of it.
    package func inverse(of value: Value) -> FieldOperation.Change {
        switch (self, value) {
        case (.add(.int(let amount)), .int): .add(.int(0 &- amount))
        case (.edit(let edits), .set), (.edit(let edits), .map): .edit(edits.inverse(of: value))
        // A sum of floating-point numbers may be rounded, so it does not lead back.
        case (.set, _), (.add, _), (.clear, _), (.edit, _): .set(value)
        }
    }

    /// The change that makes one value of a property of another: edits of a set or map, so that those of others at the
    /// same time count too, and otherwise the new value. A collection that loses all is emptied.
    package static func difference(from old: Value, to new: Value) -> FieldOperation.Change {
        guard let edits = ElementEdits.difference(from: old, to: new), !edits.isEmpty else { return .set(new) }
        return new.isEmptyCollection ? .clear : .edit(edits)
    }
}

extension Value {
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
        for field in fields {
            if case .edit = field.change, absent.contains(field.property) { continue }
            values[field.property] = field.change.applied(to: values[field.property])
            absent.remove(field.property)
        }
    }
}
