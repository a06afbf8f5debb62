/// A variable of a rule as written: `$user.id`, `$user.claims.team.name`, `$role.admin`, `$client.region`.
///
/// Only rules have variables. Each is replaced by its value before the condition is checked.
package struct VariableSyntax: Hashable, Sendable, CustomStringConvertible {
    /// What a variable is about; its name is the first of the variable's.
    package enum Source: String, Hashable, Sendable, CaseIterable {
        /// The user: the id, the claims, and the derived sets.
        case user
        /// Whether the user has a role.
        case role
        /// What the client has chosen.
        case client
    }

    package let source: Source
    /// What follows the source, outermost first; at least one name.
    package let names: [String]

    package init(_ source: Source, _ names: [String]) {
        self.source = source
        self.names = names
    }

    package var description: String { "$\(source.rawValue)." + names.joined(separator: ".") }
}

extension LiteralSyntax {
    var isVariable: Bool { if case .variable = kind { true } else { false } }
}
