package import SluiceModel

/// A query as written, unchecked: a class, a condition and what follows it, or one object by its id.
///
/// Text and Swift code both become this, so that both meet the same checks and end in the same canonical form.
package struct QuerySyntax: Sendable {
    /// What the query is about.
    package enum Target: Sendable {
        /// The objects of a class.
        case objects(className: String, position: Int? = nil)
        /// One object of any class by its global id.
        case object(ObjectID)
    }

    /// What may follow the condition, in written order.
    package enum Clause: Sendable {
        case sort([SortSyntax], position: Int? = nil)
        case limit(Int, position: Int? = nil)
        case distinct([PathSyntax], position: Int? = nil)
        case exclude([PathSyntax], position: Int? = nil)
        case total(position: Int? = nil)
        /// Computes something instead of finding objects: functions as paths, such as `@count` and `@avg.price`.
        case aggregate([PathSyntax], position: Int? = nil)
        /// Of what AGGREGATE computes one figure each.
        case group([PathSyntax], position: Int? = nil)
        /// Only what comes after a place in the order, or before it: a value for each key of the order, then the key of an
        /// object.
        case place(PlaceSide, [LiteralSyntax], position: Int? = nil)

        /// Where the clause begins in the text, in UTF-8 bytes.
        package var position: Int? {
            switch self {
            case .sort(_, let position), .limit(_, let position), .distinct(_, let position),
                .exclude(_, let position), .total(let position), .place(_, _, let position),
                .aggregate(_, let position), .group(_, let position):
                position
            }
        }
    }

    /// On which side of a place results stand.
    package enum PlaceSide: String, Hashable, Sendable, CaseIterable {
        case after = "AFTER"
        case before = "BEFORE"
    }

    /// One key of a sort.
    package struct SortSyntax: Sendable {
        package var path: PathSyntax
        package var isAscending: Bool

        package init(_ path: PathSyntax, isAscending: Bool = true) {
            self.path = path
            self.isAscending = isAscending
        }
    }

    package var target: Target
    package var predicate: PredicateSyntax
    package var clauses: [Clause]

    package init(_ target: Target, where predicate: PredicateSyntax = .constant(true), clauses: [Clause] = []) {
        self.target = target
        self.predicate = predicate
        self.clauses = clauses
    }
}
