package import SluiceModel
package import SluiceQuery

/// A query whose results decide what a user may do: of a derived set, or whether a role's objects exist.
///
/// The server keeps one live view for each fact, in no context, for all users who share it, and binds a user anew when
/// the results change.
package struct RuleFact: Hashable, Sendable, Identifiable {
    /// Equal for equal queries.
    package var id: ObjectID { query.hash }
    /// The results that count. Of a query that is asked only for existence, LIMIT(1) is part.
    package let query: Query
    /// What the fact decides first: `$user.teams` or `$role.editor`, for explanations.
    package let name: String

    package static func == (left: RuleFact, right: RuleFact) -> Bool { left.id == right.id }

    package func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// The keys of each fact's results.
package typealias RuleFactResults = [RuleFact.ID: [ObjectKey]]
