package import SluiceModel

/// A checked query in canonical form: immutable, equal and hashed by its canonical text.
package struct Query: Sendable {
    /// The queried class; empty for a query of one object by id.
    package let className: String
    /// The position of the class in the schema that the query was checked against; -1 for a query of one object by id.
    package let classIndex: Int
    /// The object of `OBJECT(id)`; nil for a query over a class.
    package let object: ObjectID?
    package let predicate: Predicate
    /// The order of the results: without repeated keys, and without keys that follow a unique one. Ties break by
    /// ascending object id.
    package let sort: [SortKey]
    /// The most results, the first in the order of ``sort``; nil for all, and where ``stages`` says which.
    package let limit: Int?
    /// Which matches are results, where neither all nor the first in the order of ``sort`` are: the steps that leave some
    /// out, in turn. Empty for most queries.
    package let stages: [Stage]
    /// What ``Evaluator/sortValues(of:in:)`` reads: the keys of ``sort``, then what else the stages look at.
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

    /// Whether not everything that matches is a result.
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
    /// A single value: every link on the way is to-one.
    package let path: Query.Path
    package let isAscending: Bool
}
