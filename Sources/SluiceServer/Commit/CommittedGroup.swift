package import SluiceModel
internal import SluiceStorage
package import SluiceViews
package import SluiceWire

/// A group that is durable here, as it is published.
package struct CommittedGroup: Sendable {
    /// The difference between the states before and after the group.
    package var delta: CommitDelta
    /// The author of each version of the group; the delta names authors by their positions here.
    package var authors: [CommitAuthor]
    package var acceptedAt: Timestamp
    /// Whether the schema is another one since.
    package var changesSchema = false
    /// Whether other rules hold since.
    package var changesRules = false
    /// Whether a new epoch has begun with it.
    package var beginsEpoch = false
    /// Whether the servers of the cluster compare their replicas after it.
    package var isComparison = false
    /// The clients that have opened sessions.
    package var visitors: [UInt64] = []
    /// The highest sequence of each client that is accepted with the group, without those who are told of a rejection.
    package var sequences: [UInt64: UInt64] = [:]
    /// The highest acknowledged sequence of each session that uploaded here.
    package var acknowledged: [SessionID: UInt64] = [:]
    package var rejections: [Rejection] = []
    /// What the uploads of each session have created that is not there, since others had deleted it later.
    package var createdInVain: [SessionID: [ObjectRef]] = [:]
    /// The number of operations that had no effect by the rules of merging.
    package var supersededCount = 0
    /// How many creations of each class met an object with their key, by position: they have set its properties.
    package var metCounts: [Int: Int] = [:]

    package struct Rejection: Sendable {
        package var session: SessionID
        package var rejection: ServerMessage.Rejection
    }
}

extension CommittedGroup {
    init(_ applied: AppliedGroup) {
        let group = applied.group
        let authors = group.transactions.enumerated().map { offset, transaction in
            CommitAuthor(
                version: group.baseVersion + UInt64(offset) + 1, userID: transaction.userID,
                clientID: transaction.clientID, kinds: transaction.kinds, acceptedAt: group.acceptedAt,
                workerID: group.workerID)
        }
        self.init(
            delta: applied.delta, authors: authors, acceptedAt: group.acceptedAt, changesSchema: applied.changesSchema)
        var rejected: Set<UInt64> = []
        for step in group.steps {
            switch step {
            case .epoch: beginsEpoch = true
            case .rules: changesRules = true
            case .visit(let visit): visitors.append(visit.clientID)
            case .transaction(let transaction): sequences[transaction.clientID] = transaction.sequence
            case .rejection(let client, _, _): rejected.insert(client)
            case .confirmation, .progress, .nonce, .seen, .forgetting: break
            case .schema, .removal, .trim, .mark, .job, .jobRemoval: break
            case .comparison: isComparison = true
            }
        }
        for client in rejected { sequences[client] = nil }
    }
}
