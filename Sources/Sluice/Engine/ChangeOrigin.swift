internal import SluiceModel
internal import SluiceWire

/// Why results change.
enum ChangeOrigin {
    /// A write, or a purge, made here.
    case local
    /// The server: what its commits did, by author.
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

    /// The author of rows that come without one: a bootstrap or a catch-up.
    static func snapshot(acceptedAt: Timestamp) -> Remote.Author {
        Remote.Author(userID: nil, operations: [.create], acceptedAt: acceptedAt.date, workerID: nil)
    }
}
