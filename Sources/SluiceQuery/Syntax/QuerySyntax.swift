public import SluiceModel

/// A query as written, unchecked: a class, a condition and what follows it, or one object by its id.
///
/// Text and Swift code both become this, so that both meet the same checks and end in the same canonical form.
public struct QuerySyntax: Sendable {
    /// What the query is about.
    public enum Target: Sendable {
        /// The objects of a class.
        case objects(className: String, position: Int? = nil)
        /// One object of any class by its global id.
        case object(ObjectID)
    }

    /// What may follow the condition, in written order.
    public enum Clause: Sendable {
        case sort([SortSyntax], position: Int? = nil)
        case limit(Int, position: Int? = nil)
        case distinct([PathSyntax], position: Int? = nil)
        case exclude([PathSyntax], position: Int? = nil)

        /// Where the clause begins in the text, in UTF-8 bytes.
        package var position: Int? {
            switch self {
            case .sort(_, let position), .limit(_, let position), .distinct(_, let position),
                .exclude(_, let position):
                position
            }
        }
    }

    /// One key of a sort.
    public struct SortSyntax: Sendable {
        public var path: PathSyntax
        public var isAscending: Bool

        public init(_ path: PathSyntax, isAscending: Bool = true) {
            self.path = path
            self.isAscending = isAscending
        }
    }

    public var target: Target
    public var predicate: PredicateSyntax
    public var clauses: [Clause]

    public init(_ target: Target, where predicate: PredicateSyntax = .constant(true), clauses: [Clause] = []) {
        self.target = target
        self.predicate = predicate
        self.clauses = clauses
    }
}
