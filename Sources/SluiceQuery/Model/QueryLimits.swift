/// The limits on the size of a query. Each is checked before anything is built from the query, and has a message of its
/// own.
package enum QueryLimits {
    /// Bytes of text, also of the canonical text.
    package static let textLengthMax = 65_536
    /// Nested parentheses and negations.
    package static let depthMax = 64
    /// Numbers that the arithmetic of one side of a comparison combines: SQLite's functions take at most 127 arguments.
    package static let arithmeticTermCountMax = 64
    /// Links and collections that the arithmetic of one side goes through: SQLite joins at most 64 tables, and each
    /// needs two.
    package static let arithmeticLinkCountMax = 30
    /// Nested subqueries.
    package static let subqueryDepthMax = 8
    /// SORT, LIMIT and DISTINCT clauses of one query, where neighbours of one kind count as one.
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
    /// Paths of GROUP.
    package static let groupKeyCountMax = 4
    /// Functions of AGGREGATE.
    package static let functionCountMax = 16
    /// Paths in the exclusions of one query.
    package static let exclusionCountMax = 1_000
}
