internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// Makes the digests of views: for returning clients to compare, and, view by view, for running sessions, to which it
/// sends them.
final class ViewDigests {
    private let database: Database
    private let hub: ViewHub
    private var rounds: DigestRounds
    /// The digest that is being made beside the writer.
    private var reading: (preparation: QueryPreparation, making: DigestReading)?
    /// The preparation that nobody has taken yet.
    private var handedOut: QueryPreparation?
    /// How many digests were sent to running sessions.
    private(set) var sentCount: UInt64 = 0

    private var storage: SQLiteServerStorage { database.storage }
    private var limits: DatabaseLimits { database.limits }

    init(_ database: Database, _ hub: ViewHub) {
        self.database = database
        self.hub = hub
        rounds = DigestRounds(interval: database.limits.digestInterval, roundTime: database.limits.digestRoundTime)
    }

    /// Begins anew, since there are other views.
    func restart() {
        rounds = DigestRounds(interval: limits.digestInterval, roundTime: limits.digestRoundTime)
    }

    /// The digest of a view's content, kept until the view changes.
    ///
    /// - Returns: nil if the view has no digest, if making it would need a search for members, or if there are too many
    ///   members.
    func digest(of view: SharedView) throws -> ObjectID? {
        if let known = view.digest { return known }
        let digest = try DigestReading.digest(of: view.live, in: storage, limits)
        view.digest = .some(digest)
        return digest
    }

    // MARK: Running sessions

    /// Whether a digest is being made beside the writer.
    var isReading: Bool { reading != nil }

    /// Sends the digest of the next view that is due, or hands out the making of it. Most calls do neither.
    func sendNext(_ output: inout TurnOutput, now: Timestamp) {
        guard reading == nil else { return }
        let due = rounds.next(now: now, among: hub.slots) {
            !$0.isTooLargeToCheck && $0.subscriptions.contains(where: \.isComplete)
        }
        guard let view = due, let session = view.subscriptions.first?.session else { return }
        if case .some(.some(let known)) = view.digest { return send(known, of: view, &output) }
        guard view.live.linkedCount <= limits.checkedObjectCountMax else {
            view.isTooLargeToCheck = true
            return
        }
        do {
            guard let snapshot = try storage.snapshot() else { return finish(try makeInPlace(view), &output) }
            let making = DigestReading(of: view, view.live.copyForReading(), limits)
            let preparation = QueryPreparation(
                .reading(making), for: session, of: database, on: snapshot, stepCountMax: limits.turnStepCountMax)
            reading = (preparation, making)
            handedOut = preparation
        } catch {
            note(error, of: view)
        }
    }

    /// The writer of a database in memory has the only connection.
    private func makeInPlace(_ view: SharedView) throws -> DigestReading {
        let making = DigestReading(of: view, view.live, limits)
        try database.limitingWork(for: nil, stepCountMax: limits.turnStepCountMax) { _ in try making.read(in: storage) }
        return making
    }

    /// Removes and returns a digest that is to be made beside the writer; nil if there is none.
    func takeReading() -> QueryPreparation? {
        defer { handedOut = nil }
        return handedOut
    }

    /// Takes a digest that was made beside the writer, and sends it unless the view has changed since. A view that has
    /// changed is due again in a later round.
    ///
    /// - Returns: false if the preparation is of another kind.
    func finish(_ preparation: QueryPreparation, _ output: inout TurnOutput) -> Bool {
        guard let (own, making) = reading, own === preparation else { return false }
        reading = nil
        if case .failed(let error) = preparation.outcome {
            note(error, of: making.view)
        } else {
            finish(making, &output)
        }
        return true
    }

    private func finish(_ making: DigestReading, _ output: inout TurnOutput) {
        let view = making.view
        switch making.outcome {
        case .none: break
        case .tooLarge:
            // A window may come to hold fewer members.
            if !view.live.holdsRoots { view.isTooLargeToCheck = true }
        case .digest(let digest):
            guard view.hasSubscriptions, view.changeCount == making.changeCount else { return }
            if view.live.holdsRoots { view.digest = .some(digest) }
            send(digest, of: view, &output)
        }
    }

    /// Sends the digest of a view to all sessions for which it is complete.
    private func send(_ digest: ObjectID, of view: SharedView, _ output: inout TurnOutput) {
        for subscription in view.subscriptions where subscription.isComplete && !subscription.subscriber.isLight {
            let check = ServerMessage.DigestCheck(
                session: subscription.session.session, subscription: subscription.id, version: storage.version,
                digest: digest)
            output.send([.digest(check)], to: subscription.session)
            sentCount += 1
        }
    }

    /// A view that needs more than a turn is not checked any more.
    private func note(_ error: any Error, of view: SharedView) {
        if let error = error as? StorageError, error.endsQueryAlone {
            view.isTooLargeToCheck = true
        } else if (error as? StorageError)?.code != .cancelled {
            database.noteFailure("a digest could not be made", error)
        }
    }
}
