internal import SluiceModel
internal import SluiceQuery
internal import SluiceWire

/// Which authors of a commit each session is told by name.
///
/// Who may not know of a user is told that somebody has written, and neither the user's id nor the client's number,
/// which would tell that two changes are of the same user.
struct AuthorVeil {
    /// Receivers who are told the same authors.
    struct Audience {
        /// The positions, among the authors of the group, of those who stay unnamed.
        let unnamed: Set<Int>
        var receivers: [ChangeReceiver]
    }

    private let group: CommittedGroup
    private let source: any ObjectSource
    private let subscriber: (SessionID) -> Subscriber?
    /// The authors whom a binding hides, by its identity and the position of the author.
    private var hidden: [ObjectIdentifier: [Int: Bool]] = [:]

    /// - Parameters:
    ///   - source: the objects after the commit.
    ///   - subscriber: who has a session.
    init(_ group: CommittedGroup, in source: any ObjectSource, subscriber: @escaping (SessionID) -> Subscriber?) {
        self.group = group
        self.source = source
        self.subscriber = subscriber
    }

    /// Divides receivers by whom they are told.
    ///
    /// - Parameter authors: the positions of those who have made a change.
    /// - Complexity: O(receivers × authors), with a look at an object for each pair of a binding and an author.
    mutating func audiences(of receivers: [ChangeReceiver], for authors: [Int]) -> [Audience] {
        var audiences: [Audience] = []
        var places: [Set<Int>: Int] = [:]
        for receiver in receivers {
            let unnamed = unnamed(of: authors, to: receiver.session)
            if let place = places[unnamed] {
                audiences[place].receivers.append(receiver)
            } else {
                places[unnamed] = audiences.count
                audiences.append(Audience(unnamed: unnamed, receivers: [receiver]))
            }
        }
        return audiences
    }

    /// Those of some authors whom a session is not told by name.
    mutating func unnamed(of authors: [Int], to session: SessionID) -> Set<Int> {
        guard let reader = subscriber(session), reader.access.hidesUsers else { return [] }
        var unnamed: Set<Int> = []
        for position in authors where isHidden(position, from: reader) { unnamed.insert(position) }
        return unnamed
    }

    private mutating func isHidden(_ position: Int, from reader: Subscriber) -> Bool {
        let author = group.authors[position]
        guard let userID = author.userID, userID != reader.holder.userID else { return false }
        // The server's own process is no user.
        if author.clientID == Upload.serverClientID, userID == User.serverID { return false }
        let binding = ObjectIdentifier(reader.access)
        if let known = hidden[binding]?[position] { return known }
        let isHidden = reader.access.hides(userID: userID, in: source)
        hidden[binding, default: [:]][position] = isHidden
        return isHidden
    }
}

extension CommitAuthor {
    /// The author as somebody.
    var unnamed: CommitAuthor {
        var author = self
        author.userID = nil
        author.clientID = 0
        return author
    }
}
