package import SluiceModel
package import SluiceQuery

/// An object that a transaction changes, by all of its operations together.
package struct ChangedObject {
    package let object: ObjectRef
    /// The object before the transaction; nil if there was none.
    package let old: Row?
    /// The object after it; nil if there is none.
    package let new: Row?
    /// Whether one of the operations deletes the object. If there is one afterwards, it is another one.
    package let isDeleted: Bool
    /// Whether one of them would delete the object, had others not created it later.
    package let wouldBeDeleted: Bool
    /// Whether what is there afterwards is what a deletion has left, and others have created it.
    package let isLeft: Bool
    /// The properties that the operations name.
    package let named: PropertySet

    package init(
        _ object: ObjectRef, old: Row?, new: Row?, isDeleted: Bool, wouldBeDeleted: Bool = false,
        isLeft: Bool = false, named: PropertySet
    ) {
        self.object = object
        self.old = old
        self.new = new
        self.isDeleted = isDeleted
        self.wouldBeDeleted = wouldBeDeleted
        self.isLeft = isLeft
        self.named = named
    }

    /// Whether the transaction creates the object, or another one in its place.
    fileprivate var isCreated: Bool { new != nil && (old == nil || isDeleted) }

    /// Whether nothing is done to the object beside a deletion, after which it is what others have made.
    fileprivate var isKept: Bool { (isLeft || wouldBeDeleted && !isDeleted) && named.isEmpty }
}

/// What the rules do not let a transaction do.
package struct RejectedOperation: Hashable, Sendable {
    package let object: ObjectRef
    package let denial: RuleDenial
}

/// Judges what a transaction does to objects that its author may read.
///
/// Authority comes from the state before the transaction, and the result is judged in the state after it, all operations
/// together.
package struct WriteJudgement {
    private let binding: Binding
    private let changes: [ChangedObject]

    package init(_ changes: [ChangedObject], by binding: Binding) {
        self.binding = binding
        self.changes = changes
    }

    /// The first change that the author has no authority for: updates, deletions, permissions that are given, and links
    /// that let others read.
    ///
    /// - Parameter state: the objects as they are before the transaction.
    /// - Complexity: a look at each changed object, and at its properties that have rules of their own.
    package func denial(before state: any ObjectSource) throws -> RejectedOperation? {
        for change in changes {
            guard let old = change.old else { continue }
            if change.isDeleted || change.new == nil {
                if try !allows(.delete, old, change, state) { return denied(.delete, change) }
                continue
            }
            if change.wouldBeDeleted, try !allows(.delete, old, change, state) { return denied(.delete, change) }
            if change.isKept { continue }
            if try !allows(.update, old, change, state) { return denied(.update, change) }
            if let property = try closedProperty(change.named, old, change, state) {
                return denied(property: property, change)
            }
        }
        if let object = try ungivable(before: state) { return denied(.permissions, object) }
        return try binding.refusedLink(changes, before: state).map { denied(.links, $0) }
    }

    /// The first change that gives in a permission list what its author has not.
    private func ungivable(before state: any ObjectSource) throws -> ObjectRef? {
        guard binding.hasPermissionLists else { return nil }
        let rows = Dictionary(changes.map { ($0.object, $0.new) }) { _, last in last }
        return try binding.refusedGrant(changes, before: state) { object in
            if let known = rows[object] { return known }
            return try state.row(object)
        }
    }

    /// The first change whose result the rules do not allow.
    ///
    /// - Parameter state: the objects as they are after the transaction.
    /// - Complexity: as ``denial(before:)``.
    package func denial(after state: any ObjectSource) throws -> RejectedOperation? {
        for change in changes {
            guard let new = change.new, !change.isKept else { continue }
            guard change.isCreated else {
                if try !allows(.updateAfter, new, change, state) { return denied(.updateAfter, change) }
                continue
            }
            if try !allows(.create, new, change, state) { return denied(.create, change) }
            // A creation names all properties, also those that have their defaults.
            let defaults = binding.reads.schema[change.object.classIndex].defaultValues
            let set = PropertySet(change.named.filter { !new.values[$0].isIdentical(to: defaults[$0]) })
            if let property = try closedProperty(set, new, change, state) {
                return denied(property: property, change)
            }
        }
        return nil
    }

    private func allows(
        _ action: RuleAction, _ row: Row, _ change: ChangedObject, _ state: any ObjectSource
    ) throws -> Bool {
        try binding.allows(action, row, ofClass: change.object.classIndex, in: state)
    }

    /// The first of some properties that has a rule of its own which does not allow writing it.
    private func closedProperty(
        _ properties: PropertySet, _ row: Row, _ change: ChangedObject, _ state: any ObjectSource
    ) throws -> Int? {
        for property in properties {
            guard let condition = binding.writeCondition(ofProperty: property, ofClass: change.object.classIndex),
                try !condition.allows(row, in: state)
            else { continue }
            return property
        }
        return nil
    }

    private func denied(_ cause: RuleDenial.Cause, _ object: ObjectRef) -> RejectedOperation {
        let declared = binding.reads.schema[object.classIndex]
        return RejectedOperation(object: object, denial: RuleDenial(className: declared.name, cause: cause))
    }

    private func denied(_ action: RuleAction, _ change: ChangedObject) -> RejectedOperation {
        denied(.action(action), change.object)
    }

    private func denied(property: Int, _ change: ChangedObject) -> RejectedOperation {
        denied(.property(binding.reads.schema[change.object.classIndex].properties[property].name), change.object)
    }
}

extension Binding {
    /// Whether an object allows an action. Without a rule it does not.
    ///
    /// - Parameter source: the objects as they are, whoever asks.
    package func allows(
        _ action: RuleAction, _ row: Row, ofClass classIndex: Int, in source: any ObjectSource
    ) throws -> Bool {
        guard let condition = condition(of: action, onClass: classIndex), !condition.isNever else { return false }
        return try condition.isAlways || condition.allows(row, in: source)
    }

    /// Judges what a transaction does to one object, which its author may not be able to read.
    ///
    /// - Parameters:
    ///   - before: the object before the transaction; nil if there was none.
    ///   - after: the object after it; nil if there is none.
    ///   - changed: the properties that were written.
    ///   - old: the objects as they were before the transaction.
    ///   - new: the objects as they are after it, which differ in this one alone.
    package func verdict(
        onClass classIndex: Int, before: Row?, after: Row?, changed: PropertySet, old: any ObjectSource,
        new: any ObjectSource
    ) throws -> RuleVerdict {
        if let before, try !allows(.read, before, ofClass: classIndex, in: old) { return .missing }
        guard let key = (after ?? before)?.key else { return .allowed }
        let change = ChangedObject(
            ObjectRef(classIndex, key), old: before, new: after, isDeleted: after == nil, named: changed)
        let judgement = WriteJudgement([change], by: self)
        let denied = try judgement.denial(before: old) ?? judgement.denial(after: new)
        return denied.map { .denied($0.denial) } ?? .allowed
    }
}
