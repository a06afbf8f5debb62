internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// Stores what the server sends: pages, commits and completions, and with them what they say of this store's uploads.
///
/// Rows are stored as they come; of an object with pending writes the image is kept, and the writes applied to it again.
/// During a bootstrap the memberships are staged, and the completion puts them in force. `FrameApplier` carries out the
/// steps of one transaction, for this type alone.
struct Applier {
    let storage: SQLiteClientStorage
    let transactions: StoreTransactions
    let schema: SchemaAgreement
    let images: ObjectImages
    let active: ActiveSubscriptions
    let requests: SubscriptionRequests
    let outbox: Outbox
    let options: ClientOptions
    let now: () -> Timestamp

    /// Applies the content of frames in one transaction, step by step: commits that come together leave what they would
    /// leave one by one.
    ///
    /// - Returns: the subscriptions whose state or progress changed.
    func apply(_ content: [ServerContent]) throws -> [Subscription] {
        guard let map = schema.map else { throw SyncError(.protocolViolation, "objects before the session is open") }
        var misled: [Subscription] = []
        var isUnveiled = false
        let concerned = try transactions.run(ChangeOrigin(content, to: storage.syncState?.clientID, now: now())) {
            transaction in
            let frame = FrameApplier(self, map: map, transaction)
            try frame.catchUp(content)
            for step in content.steps {
                transaction.beginStep()
                // The images in these messages already include everything that they acknowledge.
                outbox.note(step)
                for part in step {
                    switch part {
                    case .page(let page): try frame.apply(page)
                    case .complete(let complete): try frame.apply(complete)
                    case .commit(let commit): try frame.apply(commit)
                    case .withdrawn(let withdrawn): try frame.apply(withdrawn)
                    case .context(let context): isUnveiled = try adopt(context, map, transaction) || isUnveiled
                    // The outbox has noted it.
                    case .rejected: break
                    }
                }
                try frame.finish()
                try outbox.retire(transaction)
            }
            misled = frame.misled
            return Array(frame.concerned.values)
        }
        if isUnveiled { misled += active.values.filter { $0.error?.code == .notPermitted } }
        for subscription in misled { try requests.requestAnew(subscription) }
        return concerned
    }

    /// Takes in another context.
    ///
    /// - Returns: whether the user may read other properties, so that a query that was refused may be allowed now.
    private func adopt(
        _ context: ServerMessage.Context, _ map: SchemaMap, _ transaction: StoreTransaction
    ) throws -> Bool {
        try ReadingContext(storage).adopt(context, active, HiddenValues(storage, images, map, transaction))
    }
}

extension [ServerContent] {
    /// The content in steps, of which each but the last ends with a commit of its own version. What comes before a
    /// commit, or after the last one, belongs to its step.
    fileprivate var steps: [ArraySlice<ServerContent>] {
        let ends = indices.filter { self[$0].endsCommit }
        var steps: [ArraySlice<ServerContent>] = []
        var start = startIndex
        for end in ends.dropLast() {
            steps.append(self[start...end])
            start = end + 1
        }
        return steps + [self[start...]]
    }
}

extension ChangeOrigin {
    /// The authors of the commits in a frame; a bootstrap and a catch-up have none.
    ///
    /// - Parameter client: the number of this client. Its own transactions come with those of others, and observers had
    ///   their effects when they were written. Those that come alone are named: then the server has made something else
    ///   of them.
    fileprivate init(_ content: [ServerContent], to client: UInt64?, now: Timestamp) {
        var authors: [CommitAuthor] = []
        var seen: Set<UInt64> = []
        var snapshotAt: Timestamp?
        // What pages say was done; nil from the first on that does not.
        var operations: Set<OperationKind>? = []
        for part in content {
            switch part {
            case .commit(let commit):
                for author in commit.blocks.flatMap(\.content.authors) where seen.insert(author.version).inserted {
                    authors.append(author)
                }
                if authors.isEmpty { snapshotAt = snapshotAt ?? commit.header.acceptedAt }
            case .page(let page):
                snapshotAt = snapshotAt ?? now
                let authors = page.content.authors
                operations = authors.isEmpty ? nil : authors.reduce(into: operations) { $0?.formUnion($1.kinds) }
            case .complete(let complete): snapshotAt = complete.acceptedAt
            // They have no author and no time.
            case .rejected, .context, .withdrawn: break
            }
        }
        // The server itself has the number 0, and so has a client that was given none.
        let others = authors.filter { $0.clientID != client || $0.clientID == 0 }
        if !others.isEmpty || !authors.isEmpty && snapshotAt == nil {
            self = .remote((others.isEmpty ? authors : others).map(Remote.Author.init))
        } else {
            let said = operations.flatMap { $0.isEmpty ? nil : $0 }
            self = .catchUp(acceptedAt: snapshotAt ?? now, operations: said)
        }
    }
}
