/// How large a query may be. Checked before anything is built from it, each limit with its own message.
package enum QueryLimits {
    /// Bytes of text, also of the canonical text.
    package static let textLengthMax = 65_536
    /// Parentheses and negations within each other.
    package static let depthMax = 64
    /// Numbers on one side of a comparison that arithmetic puts together: SQLite takes 127 arguments of a function.
    package static let arithmeticTermCountMax = 64
    /// Links and collections that the arithmetic of one side goes through: SQLite joins 64 tables, two for each.
    package static let arithmeticLinkCountMax = 30
    /// Subqueries within each other.
    package static let subqueryDepthMax = 8
    /// Clauses that leave results out, of a query with DISTINCT or with SORT after LIMIT.
    package static let stageCountMax = 16
    /// Constants in one list.
    package static let listCountMax = 10_000
    /// Conditions in one query.
    package static let nodeCountMax = 2_000
    /// Constants in one query: SQLite takes 32,766 parameters in a statement.
    package static let constantCountMax = 20_000
    /// Components in one path.
    package static let pathLengthMax = 16
    /// Keys of a sort.
    package static let sortKeyCountMax = 16
    /// Paths in the exclusions of one query.
    package static let exclusionCountMax = 1_000
}
