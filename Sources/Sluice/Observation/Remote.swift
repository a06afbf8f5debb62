public import FoundationEssentials
public import SluiceModel

/// The origin of a change that came from the server: who made it, and when.
public struct Remote: Sendable, Hashable {
    /// One commit that is part of the change.
    public struct Author: Sendable, Hashable {
        /// Who made the commit; nil for an anonymous user, for one whom the server's rules hide from this store's user,
        /// and for the rows of a bootstrap or catch-up.
        public let userID: String?
        /// The kinds of operations in the commit.
        public let operations: Set<OperationKind>
        /// When the server accepted the commit.
        public let acceptedAt: Date
        /// The server process that accepted the commit; nil if it has no name.
        public let workerID: String?

        package init(userID: String?, operations: Set<OperationKind>, acceptedAt: Date, workerID: String?) {
            self.userID = userID
            self.operations = operations
            self.acceptedAt = acceptedAt
            self.workerID = workerID
        }
    }

    /// The commits that the change consists of, in the server's order; never empty.
    public let authors: [Author]
    /// When this process applied the change, read right before the observers were notified.
    public let receivedAt: Date

    package init(authors: [Author], receivedAt: Date) {
        precondition(!authors.isEmpty, "a remote change has at least one author")
        self.authors = authors
        self.receivedAt = receivedAt
    }

    /// The user of the last commit; nil when unknown.
    public var userID: String? { authors[authors.count - 1].userID }
    /// The kinds of operations in all of the commits.
    public var operations: Set<OperationKind> { authors.reduce(into: []) { $0.formUnion($1.operations) } }
    /// When the server accepted the last commit.
    public var acceptedAt: Date { authors[authors.count - 1].acceptedAt }
    /// The server process that accepted the last commit.
    public var workerID: String? { authors[authors.count - 1].workerID }
}
