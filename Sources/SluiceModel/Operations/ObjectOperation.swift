/// What one transaction does to one object. The class is a position in a schema that client and server agree on.
package struct ObjectOperation: Hashable, Sendable {
    package var object: ObjectRef
    package var action: Action

    package enum Action: Hashable, Sendable {
        /// Creates the object; properties that are not named get their defaults. If the object exists, the named
        /// properties are changed in the same way, except to defaults.
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

extension [ObjectOperation] {
    /// Those of one transaction that are not undone by a later deletion of the same object in it. O(n).
    package var withoutDeleted: [ObjectOperation] {
        guard contains(where: { $0.action == .delete }) else { return self }
        var lasts: [ObjectRef: Int] = [:]
        for (place, operation) in enumerated() where operation.action == .delete { lasts[operation.object] = place }
        return enumerated().filter { place, operation in lasts[operation.object].map { $0 <= place } ?? true }
            .map(\.element)
    }

    /// The kinds of the operations, for change events.
    package var kinds: Set<OperationKind> {
        var (creates, deletes, sets, adds) = (false, false, false, false)
        // Collections are edited rarely, and most transactions have few kinds but many operations.
        var edits: Set<OperationKind> = []
        for operation in self {
            switch operation.action {
            case .create: creates = true
            case .delete: deletes = true
            case .update(let fields):
                for field in fields {
                    switch field.change {
                    case .set: sets = true
                    case .setDefault: edits.insert(.setDefault)
                    case .add: adds = true
                    case .clear: edits.insert(.clear)
                    case .edit(let change): edits.formUnion(change.kinds)
                    case .editList(let change): edits.formUnion(change.kinds)
                    }
                }
            }
        }
        let all: [(kind: OperationKind, occurs: Bool)] = [
            (.create, creates), (.delete, deletes), (.set, sets), (.add, adds),
        ]
        return edits.union(all.lazy.filter(\.occurs).map(\.kind))
    }
}

extension ListEdits {
    fileprivate var kinds: Set<OperationKind> {
        var kinds: Set<OperationKind> = []
        for outcome in outcomes.values {
            switch outcome {
            case .erased: kinds.insert(.listErase)
            case .inserted: kinds.insert(.listInsert)
            case .changed(let place, let value):
                if place != nil { kinds.insert(.listMove) }
                if value != nil { kinds.insert(.listSet) }
            }
        }
        return kinds
    }
}

extension ElementEdits {
    fileprivate var kinds: Set<OperationKind> {
        Set(
            outcomes.values.map { outcome in
                switch container {
                case .set: outcome == nil ? .setErase : .setInsert
                case .map: outcome == nil ? .mapErase : .mapSet
                }
            })
    }
}
