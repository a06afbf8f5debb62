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
    package enum Cause: Hashable, Sendable {
        /// A rule of the class, for an action.
        case action(RuleAction)
        /// The own rule of a property that was written.
        case property(String)
        /// A permission list gives what its author has not.
        case permissions
        /// A link to a transitive class leads to what its author may not read.
        case links
    }

    package let className: String
    package let cause: Cause

    /// The rule that decided, such as `Document.update`, or `Document.salary.write` for one of a property; nil where it
    /// was a link or a permission that was given.
    package var ruleName: String? {
        switch cause {
        case .action(let action): "\(className).\(action.rawValue)"
        case .property(let property): "\(className).\(property).write"
        case .permissions, .links: nil
        }
    }

    package var description: String {
        switch cause {
        case .property(let property): "\(className).\(property) may not be written"
        case .links: "\(className) links what its author may not read"
        case .permissions: "\(className) gives permissions that its author has not"
        case .action(.create): "\(className) may not be created so"
        case .action(.read): "\(className) may not be read"
        case .action(.update): "\(className) may not be updated"
        case .action(.updateAfter): "\(className) may not be updated to these values"
        case .action(.delete): "\(className) may not be deleted"
        }
    }
}
