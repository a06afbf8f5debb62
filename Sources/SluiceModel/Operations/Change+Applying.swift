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
        }
    }
}

extension Row {
    /// Applies field operations in order. The properties that they set are present from then on.
    package mutating func apply(_ fields: [FieldOperation]) {
        for field in fields {
            values[field.property] = field.change.applied(to: values[field.property])
            absent.remove(field.property)
        }
    }
}
