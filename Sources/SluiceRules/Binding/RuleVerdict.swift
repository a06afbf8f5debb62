package import SluiceModel
package import SluiceQuery

/// What the rules say of one object that a transaction changes.
package enum RuleVerdict: Hashable, Sendable {
    case allowed
    /// The user may not read the object: the answer must be the same as for one that is not there.
    case missing
    /// The user may read the object, and not do this.
    case denied(RuleDenial)
}

/// What exactly was denied.
package struct RuleDenial: Hashable, Sendable, CustomStringConvertible {
    package let className: String
    /// Nil for a change of who may do what, which a permission list, or a class that is transitive, does not let the user
    /// make.
    package let action: RuleAction?
    /// The property whose own rule denied it.
    package let property: String?

    package var description: String {
        switch (action, property) {
        case (_, let property?): "\(className).\(property) may not be written"
        case (nil, nil): "\(className) gives permissions that its author has not, or links what the author may not read"
        case (.create, nil): "\(className) may not be created so"
        case (.read, nil): "\(className) may not be read"
        case (.update, nil): "\(className) may not be updated"
        case (.updateAfter, nil): "\(className) may not be updated to these values"
        case (.delete, nil): "\(className) may not be deleted"
        }
    }
}

extension Binding {
    /// Judges what a transaction does to one object, all its operations together: authority comes from the state before
    /// the transaction, and the result is judged in the state after it.
    ///
    /// - Parameters:
    ///   - before: the object before the transaction; nil if there was none.
    ///   - after: the object after it; nil if there is none.
    ///   - changed: the properties that were written; of an object that is new, those that differ from their defaults.
    ///   - old: the objects as they were before the transaction.
    ///   - new: the objects as they are after it.
    package func verdict(
        onClass classIndex: Int, before: Row?, after: Row?, changed: PropertySet, old: any ObjectSource,
        new: any ObjectSource
    ) throws -> RuleVerdict {
        func allows(_ action: RuleAction, _ row: Row, _ source: any ObjectSource) throws -> Bool {
            try condition(of: action, onClass: classIndex)?.allows(row, in: source) ?? false
        }
        func denied(_ action: RuleAction, property: Int? = nil) -> RuleVerdict {
            let declared = reads.schema[classIndex]
            return .denied(
                RuleDenial(
                    className: declared.name, action: action, property: property.map { declared.properties[$0].name }))
        }
        if let before, try !allows(.read, before, old) { return .missing }
        switch (before, after) {
        case (nil, nil): return .allowed
        case (nil, let after?):
            if try !allows(.create, after, new) { return denied(.create) }
        case (let before?, nil):
            if try !allows(.delete, before, old) { return denied(.delete) }
        case (let before?, let after?):
            if try !allows(.update, before, old) { return denied(.update) }
            if try !allows(.updateAfter, after, new) { return denied(.updateAfter) }
        }
        if let key = (after ?? before)?.key {
            let change = ChangedObject(ObjectRef(classIndex, key), old: before, new: after)
            let refused = try refusedGrant([change], before: old) { object in
                try object == change.object ? after : new.row(object)
            }
            if try refused != nil || refusedLink([change], before: old) != nil {
                return .denied(
                    RuleDenial(className: reads.schema[classIndex].name, action: nil, property: nil))
            }
        }
        guard let judged = before ?? after else { return .allowed }
        for property in classes.guardedProperties(ofClass: classIndex) where changed.contains(property) {
            guard let condition = classes.writeCondition(ofProperty: property, ofClass: classIndex) else { continue }
            if try !condition.allows(judged, in: before == nil ? new : old) {
                return denied(before == nil ? .create : .update, property: property)
            }
        }
        return .allowed
    }
}
