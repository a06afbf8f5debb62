internal import FoundationEssentials

/// What one transaction does to one object. The class is a position in a schema that both ends agree on.
package struct ObjectOperation: Hashable, Sendable {
    package var object: ObjectRef
    package var action: Action

    package enum Action: Hashable, Sendable {
        /// Makes the object; properties not named have their defaults. Creating an object that exists sets the named properties.
        case create([FieldOperation])
        /// Changes an object that exists; discarded when it does not.
        case update([FieldOperation])
        /// Removes the object. Removing one that does not exist does nothing.
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

/// What happens to one property. The property is a position in its class.
package struct FieldOperation: Hashable, Sendable {
    package var property: Int
    package var change: Change

    package enum Change: Hashable, Sendable {
        /// The property has this value from now on; collections as a whole.
        case set(Value)
        /// The number grows by this much: wrapping for integers; nothing happens to null.
        case add(Value)
    }

    package init(_ property: Int, _ change: Change) {
        self.property = property
        self.change = change
    }
}

extension ObjectOperation {
    /// Adds the kinds of operation in this change, for reports.
    package func addKinds(to kinds: inout Set<OperationKind>) {
        switch action {
        case .create: kinds.insert(.create)
        case .delete: kinds.insert(.delete)
        case .update(let fields):
            for field in fields {
                switch field.change {
                case .set: kinds.insert(.set)
                case .add: kinds.insert(.add)
                }
            }
        }
    }
}

extension FieldOperation.Change {
    /// The value after this change on top of `value`.
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
