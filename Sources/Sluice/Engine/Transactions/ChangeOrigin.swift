internal import SluiceModel
internal import SluiceWire

/// The origin of a change of results.
enum ChangeOrigin {
    /// A local write or purge.
    case local
    /// The server, with the authors of its commits.
    case remote([Remote.Author])

    var isRemote: Bool {
        if case .remote = self { true } else { false }
    }
}

extension Remote.Author {
    init(_ author: CommitAuthor) {
        self.init(
            userID: author.userID, operations: author.kinds, acceptedAt: author.acceptedAt.date,
            workerID: author.workerID)
    }

    /// The author of rows that have none, in a bootstrap or catch-up.
    static func snapshot(acceptedAt: Timestamp) -> Remote.Author {
        Remote.Author(userID: nil, operations: [.create], acceptedAt: acceptedAt.date, workerID: nil)
    }
}
