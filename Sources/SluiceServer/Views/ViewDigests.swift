internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// Makes the digests of views: for returning clients to compare, and, view by view, for running sessions.
final class ViewDigests {
    private let database: Database
    private var rounds: DigestRounds
    /// The digest that is being made beside the writer.
    private var reading: (preparation: QueryPreparation, making: DigestReading)?
    /// The preparation that nobody has taken yet.
    private var handedOut: QueryPreparation?

    private var storage: SQLiteServerStorage { database.storage }
    private var limits: DatabaseLimits { database.limits }

    init(_ database: Database) {
        self.database = database
        rounds = DigestRounds(interval: database.limits.digestInterval, roundTime: database.limits.digestRoundTime)
    }

    func insert(_ view: SharedView) { rounds.insert(view) }

    func remove(_ view: SharedView) { rounds.remove(view) }

    func removeAll() {
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

    /// Makes the digest of the next view that is due, or hands out the making of it.
    ///
    /// - Returns: a view and its digest, if it is known or was made at once; nil for most calls.
    func next(now: Timestamp) -> (view: SharedView, digest: ObjectID)? {
        guard reading == nil else { return nil }
        let due = rounds.next(now: now) {
            !$0.isTooLargeToCheck && $0.subscriptions.contains(where: \.isComplete)
        }
        guard let view = due, let session = view.subscriptions.first?.session else { return nil }
        if case .some(.some(let known)) = view.digest { return (view, known) }
        guard view.live.linkedCount <= limits.checkedObjectCountMax else {
            view.isTooLargeToCheck = true
            return nil
        }
        do {
            guard let snapshot = try storage.snapshot() else { return finish(try makeInPlace(view)) }
            let isAbandoned = database.isAbandoned
            let making = DigestReading(of: view, view.live.copyForReading(), limits)
            let preparation = QueryPreparation(
                .reading(making), for: session, on: snapshot, stepCountMax: limits.turnStepCountMax
            ) { isAbandoned(nil) }
            reading = (preparation, making)
            handedOut = preparation
        } catch {
            note(error, of: view)
        }
        return nil
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

    /// Takes a digest that was made beside the writer.
    ///
    /// - Returns: nil if the preparation is of another kind; else the view and its digest, if it has one and has not
    ///   changed since. A view that has changed is due again in a later round.
    func finish(_ preparation: QueryPreparation) -> (view: SharedView, digest: ObjectID)?? {
        guard let (own, making) = reading, own === preparation else { return nil }
        reading = nil
        if case .failed(let error) = preparation.outcome {
            note(error, of: making.view)
            return .some(nil)
        }
        return .some(finish(making))
    }

    private func finish(_ making: DigestReading) -> (view: SharedView, digest: ObjectID)? {
        let view = making.view
        switch making.outcome {
        case .none: return nil
        case .tooLarge:
            // A window may come to hold fewer members.
            if !view.live.holdsRoots { view.isTooLargeToCheck = true }
            return nil
        case .digest(let digest):
            guard view.hasSubscriptions, view.changeCount == making.changeCount else { return nil }
            if view.live.holdsRoots { view.digest = .some(digest) }
            return (view, digest)
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
