internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

extension ClientEngine {
    /// The maximum number of pages, or of commits, from several frames that share a transaction. The number of pages is
    /// below the credit, so that the server can make the next ones meanwhile.
    private static let sharedPageCountMax = 4
    private static let sharedCommitCountMax = 64

    /// Handles frames from the server, in order of arrival. The content of a frame is applied in one transaction.
    /// Consecutive frames that have only pages, or only commits, share one.
    package func receive(_ frames: [[UInt8]]) {
        do {
            var content: [ServerMessage] = []
            for frame in frames {
                guard session.phase == .opening || session.isActive else { return }
                let messages = try Frame.decode(
                    frame, as: ServerMessage.self, limits: WireLimits(downloadsOf: options.dataLimits))
                if !canShare(content, messages) { try apply(&content) }
                for message in messages {
                    // A previous message may have ended the session.
                    guard session.phase == .opening || session.isActive else { return }
                    switch message {
                    case .page, .complete, .commit, .rejected:
                        content.append(message)
                    default:
                        try apply(&content)
                        try receive(message)
                    }
                }
            }
            try apply(&content)
        } catch let error as WireError {
            abandonConnection("the server sent a frame that cannot be read: \(error.message)")
        } catch let error as SchemaError {
            fail(SyncError(.schema, error.message))
        } catch let error as StorageError where error.isLasting {
            fail(SyncError(.storage, error.message))
        } catch {
            abandonConnection("what the server sent could not be stored: \(error)")
        }
    }

    /// Whether the content of earlier frames can share a transaction with that of the next.
    private func canShare(_ content: [ServerMessage], _ next: [ServerMessage]) -> Bool {
        guard !session.awaitsCatchUp else { return false }
        let all = content + next
        let isOfCommits = all.allSatisfy { message in
            if case .commit(let commit) = message { !commit.header.isContinued } else { false }
        }
        if isOfCommits { return all.count <= Self.sharedCommitCountMax }
        let isOfPages = all.allSatisfy { message in
            if case .page = message { true } else { false }
        }
        return isOfPages && all.count <= Self.sharedPageCountMax
    }

    private func receive(_ message: ServerMessage) throws {
        switch message {
        case .hello(let reply):
            greeted(reply)
        case .opened(let opened):
            try self.opened(opened)
        case .schema(_, let schema):
            try schemaGrew(schema)
        case .subscriptionError(let error):
            try fail(error)
        case .listMembers(_, let subscription):
            try listMembers(of: subscription)
        case .digest(let digest):
            try check(digest)
        case .error(let failure):
            try failed(failure)
        case .report(_, let request, let json):
            reportWaiters.removeValue(forKey: request)?(.success(json))
        case .reportError(let failure):
            let error = SyncError(SyncError.Code(failure.code), failure.message)
            reportWaiters.removeValue(forKey: failure.request)?(.failure(error))
        case .page, .complete, .commit, .rejected:
            break
        }
    }

    private func failed(_ failure: ServerMessage.Failure) throws {
        let error = SyncError(SyncError.Code(failure.code), failure.message)
        switch failure.action {
        case .report:
            lastProblem = failure.message
            session.reportedProblem = failure.message
            log?(
                .warning, "the server reports a problem",
                [("code", failure.code.rawValue), ("message", failure.message)])
            if failure.code == .databaseDamaged { stopUploads(because: error) }
        case .retry, .reset:
            actions.append(.disconnect)
            log?(.info, "the server asks to come again", [("message", failure.message)])
            leaveForRetry(
                atLeast: .milliseconds(Int64(clamping: failure.retryAfter)), because: failure.message)
            guard failure.action == .reset else { return }
            // The next session begins without an identity, and uploads what is not acknowledged.
            try forgetServer()
            try transaction(.local) { _ in try storage.setSyncState(nil) }
        case .stop:
            let isOfFrame = failure.code == .protocolViolation || failure.code == .limitExceeded
            guard isOfFrame, suspectUploads(because: failure.message) else { return fail(error) }
        }
    }

    private func fail(_ error: ServerMessage.SubscriptionError) throws {
        guard let subscription = session.subscribed[error.subscription] else { return }
        subscription.error = SyncError(SyncError.Code(error.code), error.message)
        subscription.record.state = .failed
        try transaction(.local) { transaction in
            try storage.updateSubscription(subscription.record)
            transaction.noteRebuild(subscription.record.id)
        }
        notifyWaiters(of: subscription)
        try retireOutboxIfCaughtUp()
    }

    /// Applies the content of a frame in one transaction. A commit that continues in the next frame waits for the rest.
    private func apply(_ content: inout [ServerMessage]) throws {
        defer { content = [] }
        guard !content.isEmpty else { return }
        if case .commit(let commit) = content.last, commit.header.isContinued {
            session.parts += content
            return
        }
        let messages = session.parts + content
        session.parts = []
        try apply(messages)
    }

    private func apply(_ messages: [ServerMessage]) throws {
        lastProblem = session.reportedProblem
        guard let map = session.map else { throw SyncError(.protocolViolation, "objects before the session is open") }
        if postpones(messages) { return pumpUploads() }
        var concerned: [UInt64: Subscription] = [:]
        var pages: UInt64 = 0
        let origin = ChangeOrigin(messages, now: now())
        try transaction(origin) { transaction in
            let applier = FrameApplier(self, map: map, transaction)
            try applier.catchUp(messages)
            // The images in these messages already include everything that they acknowledge.
            for case .commit(let commit) in messages {
                if let acknowledged = commit.header.acknowledged { noteAcknowledged(acknowledged) }
            }
            for case .rejected(let rejected) in messages { session.note([quarantine.explained(rejected.rejection)]) }
            for message in messages {
                switch message {
                case .page(let page):
                    pages += 1
                    try applier.apply(page)
                case .complete(let complete):
                    try applier.apply(complete)
                case .commit(let commit):
                    try applier.apply(commit)
                default: break
                }
            }
            try applier.finish()
            concerned = applier.concerned
            try retireOutbox(in: transaction)
        }
        for subscription in concerned.values { notifyWaiters(of: subscription) }
        reportRejections()
        try check(messages)
        if pages > 0 { send([.credit(session: SyncSession.number, pages: pages)]) }
        pumpUploads()
        notifyUploaded()
    }
}

extension ChangeOrigin {
    /// The authors of all changes in a frame; rows without an author count as a snapshot.
    init(_ messages: [ServerMessage], now: Timestamp) {
        var authors: [Remote.Author] = []
        var seen: Set<UInt64> = []
        var snapshotAt: Timestamp?
        for message in messages {
            switch message {
            case .commit(let commit):
                for author in commit.blocks.flatMap(\.content.authors) where seen.insert(author.version).inserted {
                    authors.append(Remote.Author(author))
                }
                if authors.isEmpty { snapshotAt = snapshotAt ?? commit.header.acceptedAt }
            case .page: snapshotAt = snapshotAt ?? now
            case .complete(let complete): snapshotAt = complete.acceptedAt
            default: break
            }
        }
        self = .remote(authors.isEmpty ? [.snapshot(acceptedAt: snapshotAt ?? now)] : authors)
    }
}

extension SyncError.Code {
    init(_ code: ErrorCode) {
        self =
            switch code {
            case .invalidQuery: .invalidQuery
            case .unknownName: .unknownName
            case .incompatibleSchema: .schema
            case .authenticationFailed, .credentialsExpired: .notAuthenticated
            case .permissionDenied: .notPermitted
            case .protocolViolation, .unsupportedVersion: .protocolViolation
            case .limitExceeded: .limitExceeded
            case .invalidOperation: .writeRejected
            case .databaseDamaged: .databaseDamaged
            case .internalError, .overloaded, .shuttingDown: .server
            default: SyncError.Code(description: code.rawValue)
            }
    }
}
