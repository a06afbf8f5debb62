internal import FoundationEssentials

/// What one transaction does to one object. The class is a position in a schema that client and server agree on.
package struct ObjectOperation: Hashable, Sendable {
    package var object: ObjectRef
    package var action: Action

    package enum Action: Hashable, Sendable {
        /// Creates the object; properties that are not named get their defaults. If the object exists, the named
        /// properties are set.
        case create([FieldOperation])
        /// Changes an object that exists; without effect if it does not.
        case update([FieldOperation])
        /// Deletes the object; without effect if it does not exist.
        case delete
    }

    package init(_ object: ObjectRef, _ action: Action) {
        self.object = object
        self.action = action
    }

    /// The changed properties; empty for a delete.
    package var fields: [FieldOperation] {
        switch action {
        case .create(let fields), .update(let fields): fields
        case .delete: []
        }
    }
}

/// What an operation does to one property. The property is a position in its class.
package struct FieldOperation: Hashable, Sendable {
    package var property: Int
    package var change: Change

    package enum Change: Hashable, Sendable {
        /// Replaces the value; a collection is replaced as a whole.
        case set(Value)
        /// Adds an amount to a number. Integers wrap around; null stays null.
        case add(Value)
    }

    package init(_ property: Int, _ change: Change) {
        self.property = property
        self.change = change
    }
}

extension [ObjectOperation] {
    /// The kinds of the operations, for change events.
    package var kinds: Set<OperationKind> {
        var (creates, deletes, sets, adds) = (false, false, false, false)
        for operation in self {
            switch operation.action {
            case .create: creates = true
            case .delete: deletes = true
            case .update(let fields):
                for field in fields {
                    switch field.change {
                    case .set: sets = true
                    case .add: adds = true
                    }
                }
            }
        }
        let all: [(kind: OperationKind, occurs: Bool)] = [
            (.create, creates), (.delete, deletes), (.set, sets), (.add, adds),
        ]
        return Set(all.lazy.filter(\.occurs).map(\.kind))
    }
}

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
