package import SluiceModel

/// A checked query in canonical form. It is immutable, and compared and hashed by its canonical text.
package struct Query: Sendable {
    /// The queried class; empty for a query of one object by id.
    package let className: String
    /// The position of the class in the schema that the query was checked against; -1 for a query of one object by id.
    package let classIndex: Int
    /// The object of `OBJECT(id)`; nil for a query over a class.
    package let object: ObjectID?
    package let predicate: Predicate
    /// The order of the results, without repeated keys and without keys after a unique one. Ties break by ascending
    /// object id.
    package let sort: [SortKey]
    /// The most results, taken from the front of the order of ``sort``; nil if there is no limit, or ``stages`` has it.
    package let limit: Int?
    /// The steps that choose the results among the matches, in turn, where ``sort`` and ``limit`` cannot say which they
    /// are. Empty for most queries.
    package let stages: [Stage]
    /// The paths that ``Evaluator/sortValues(of:in:)`` reads: the keys of ``sort``, then the others that the stages
    /// read.
    package let positionPaths: [Path]
    package let exclusions: ExclusionTree
    /// The query in its own grammar; parsing it gives the same text again.
    package let canonicalText: String
    /// The first 128 bits of SHA-256 over `canonicalText` in UTF-8.
    package let hash: ObjectID
    package let predicateDependencies: QueryDependencies
    package let sortDependencies: QueryDependencies
    /// What predicate and sort read together.
    package let dependencies: QueryDependencies

    /// Whether the predicate or the sort follows links.
    package var usesLinkPaths: Bool { !dependencies.linkPaths.isEmpty }

    /// Whether the predicate follows links backwards.
    package var readsBacklinks: Bool { dependencies.readsBacklinks }

    /// Whether there may be matches that are not results.
    package var isPartial: Bool { limit != nil || !stages.isEmpty }
}

extension Query: Hashable {
    package static func == (left: Query, right: Query) -> Bool {
        left.hash == right.hash && UTF8Order.equal(left.canonicalText, right.canonicalText)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

extension Query: CustomStringConvertible {
    package var description: String { canonicalText }
}

/// One key of a sort.
package struct SortKey: Hashable, Sendable {
    /// A path with a single value: every link on the way is to-one.
    package let path: Query.Path
    package let isAscending: Bool
}
