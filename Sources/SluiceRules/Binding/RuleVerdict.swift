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
    /// What nobody gives to others who has not got it.
    package enum Ceiling: Hashable, Sendable {
        /// The flags of a permission list.
        case permissions
        /// The reading of what a link to a transitive class leads to.
        case links
    }

    package let className: String
    /// Nil for what a ceiling denied.
    package let action: RuleAction?
    /// The property whose own rule denied it.
    package let property: String?
    package var ceiling: Ceiling?

    package var description: String {
        switch (action, property) {
        case (_, let property?): "\(className).\(property) may not be written"
        case (nil, nil) where ceiling == .links: "\(className) links what its author may not read"
        case (nil, nil): "\(className) gives permissions that its author has not"
        case (.create, nil): "\(className) may not be created so"
        case (.read, nil): "\(className) may not be read"
        case (.update, nil): "\(className) may not be updated"
        case (.updateAfter, nil): "\(className) may not be updated to these values"
        case (.delete, nil): "\(className) may not be deleted"
        }
    }
}
