public import FoundationEssentials
public import SluiceModel

/// Where a change came from, when it came from the server.
public struct Remote: Sendable, Hashable {
    /// One commit behind the change.
    public struct Author: Sendable, Hashable {
        /// Who made it; nil when the user is anonymous, and for rows of a bootstrap or catch-up.
        public let userID: String?
        /// The kinds of operation in it.
        public let operations: Set<OperationKind>
        /// When the server accepted it.
        public let acceptedAt: Date
        /// The server process that took it; nil when it has no name.
        public let workerID: String?

        package init(userID: String?, operations: Set<OperationKind>, acceptedAt: Date, workerID: String?) {
            self.userID = userID
            self.operations = operations
            self.acceptedAt = acceptedAt
            self.workerID = workerID
        }
    }

    /// All commits that this change gathers, in the server's order; never empty.
    public let authors: [Author]
    /// When this process applied the change, taken right before observers were told.
    public let receivedAt: Date

    package init(authors: [Author], receivedAt: Date) {
        precondition(!authors.isEmpty, "a remote change has at least one author")
        self.authors = authors
        self.receivedAt = receivedAt
    }

    /// The user of the last commit; nil when unknown.
    public var userID: String? { authors[authors.count - 1].userID }
    /// The kinds of operation in all of the commits.
    public var operations: Set<OperationKind> { authors.reduce(into: []) { $0.formUnion($1.operations) } }
    /// When the server accepted the last commit.
    public var acceptedAt: Date { authors[authors.count - 1].acceptedAt }
    /// The server process that took the last commit.
    public var workerID: String? { authors[authors.count - 1].workerID }
}
