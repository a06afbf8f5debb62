internal import SluiceModel
internal import SluiceWire

/// The origin of a change of results.
enum ChangeOrigin {
    /// A local write or purge.
    case local
    /// The server, with the authors of its commits.
    case remote([Remote.Author])
    /// The server, which sent what differs and not who did it. What was done is what the server says; where it does not,
    /// it is what changed here.
    case catchUp(acceptedAt: Timestamp, operations: Set<OperationKind>? = nil)

    var isRemote: Bool {
        if case .local = self { false } else { true }
    }

    /// The same with an author in any case.
    ///
    /// - Parameter operations: the kinds of operations that lead from what was here to what is.
    func naming(_ operations: @autoclosure () -> Set<OperationKind>) -> ChangeOrigin {
        guard case .catchUp(let acceptedAt, let said) = self else { return self }
        return .remote([.snapshot(said ?? operations(), acceptedAt: acceptedAt)])
    }
}

extension Remote.Author {
    init(_ author: CommitAuthor) {
        self.init(
            userID: author.userID, operations: author.kinds, acceptedAt: author.acceptedAt.date,
            workerID: author.workerID)
    }

    /// The author of rows that have none, in a bootstrap or catch-up.
    static func snapshot(_ operations: Set<OperationKind>, acceptedAt: Timestamp) -> Remote.Author {
        Remote.Author(userID: nil, operations: operations, acceptedAt: acceptedAt.date, workerID: nil)
    }
}
