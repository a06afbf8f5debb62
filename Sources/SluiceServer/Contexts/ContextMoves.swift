internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// Subscriptions that wait for what they gain and lose, since finding it takes longer than a commit may.
///
/// The life of a move: a commit changes what a reader may read, or so many results that their view was set aside
/// (``append(_:before:_:)``), the difference is found on a snapshot, one commit's moves at a time (``begin(_:)``,
/// ``finish(_:)``), and is sent in pages like any other (``DifferenceRun``). A move whose subscription has ended or has
/// moved on meanwhile is dropped. Only the database's queue uses this.
final class ContextMoves {
    struct Move {
        /// The subscription at its new view.
        let subscription: ViewSubscription
        /// What it takes pages of, once the difference is known.
        let run: DifferenceRun
        let request: ContextReading.Request
        /// Whether the new view is kept current already.
        let isDivided: Bool
        /// The classes of which the new context is known whole; nil if these are all.
        let classes: Set<Int>?

        /// The same move, for which something else is to be found.
        func asking(_ request: ContextReading.Request) -> Move {
            Move(subscription: subscription, run: run, request: request, isDivided: false, classes: classes)
        }

        /// Whether the subscription still waits for it.
        var isAwaited: Bool {
            guard subscription.subscriber.has(subscription), case .own(let own)? = subscription.pages else {
                return false
            }
            return own === run
        }
    }

    /// What was found for the moves of one commit.
    struct Found {
        let outcomes: [(move: Move, outcome: ContextReading.Outcome)]
        /// The version at which it was found.
        let version: UInt64
        /// How many lists of departures were encoded.
        let listCount: Int
    }

    private struct Batch {
        let moves: [Move]
        /// The version that the clients have.
        let before: UInt64
        /// The commit with which the rights changed.
        let commit: CommitDelta
    }

    private struct Finding {
        let moves: [Move]
        let reading: ContextReading
        let preparation: QueryPreparation
        let version: UInt64
    }

    private struct Held {
        weak var list: DeparturePages?
    }

    private let database: Database
    private var waiting: [Batch] = []
    private var finding: Finding?
    private var handedOut: QueryPreparation?
    /// The lists of departures that clients still take pages of.
    private var held: [Held] = []

    private var limits: DatabaseLimits { database.limits }

    init(_ database: Database) { self.database = database }

    /// Whether something waits to be found, and nothing is being found.
    var hasWork: Bool { finding == nil && !waiting.isEmpty }

    /// Whether something is being found.
    var isFinding: Bool { finding != nil }

    /// Adds moves that begin with one commit.
    ///
    /// - Parameter version: the version before the commit, which the clients have.
    func append(_ moves: [Move], before version: UInt64, _ commit: CommitDelta) {
        if !moves.isEmpty { waiting.append(Batch(moves: moves, before: version, commit: commit)) }
    }

    /// Begins to find the next differences beside the writer, unless some are being found.
    ///
    /// - Returns: the moves for which that is not possible.
    func begin(_ replays: Replays) -> [Move] {
        guard finding == nil else { return [] }
        var failed: [Move] = []
        while !waiting.isEmpty {
            let batch = waiting.removeFirst()
            let moves = batch.moves.filter(\.isAwaited)
            guard let first = moves.first else { continue }
            do {
                if let commit = try commit(of: batch, replays), let snapshot = try database.storage.snapshot() {
                    find(moves, since: commit, in: snapshot, for: first.subscription.session)
                    return failed
                }
            } catch { database.noteFailure("what readers gain and lose could not be read", error, at: .debug) }
            failed += moves
        }
        return failed
    }

    /// Everything that was changed since the state that the clients have; nil if it is too much.
    private func commit(of batch: Batch, _ replays: Replays) throws -> CommitDelta? {
        database.storage.version == batch.commit.version
            ? batch.commit : try replays.changes(since: batch.before, countMax: limits.contextChangeCountMax)
    }

    private func find(
        _ moves: [Move], since commit: CommitDelta, in snapshot: any ServerSnapshot, for session: SessionID
    ) {
        held.removeAll { $0.list == nil }
        // Clients that do not take their pages must not fill the memory.
        let room = 4 * limits.touchedObjectCountMax - held.reduce(0) { $0 + ($1.list?.count ?? 0) }
        let reading = ContextReading(
            moves.map { ($0.request, $0.isDivided) }, since: commit, schema: database.storage.schema,
            pageRowCount: limits.pageRowCount, countMax: min(room, limits.touchedObjectCountMax))
        let isAbandoned = database.isAbandoned
        let preparation = QueryPreparation(
            .reading(reading), for: session, on: snapshot, stepCountMax: limits.queryStepCountMax
        ) { isAbandoned(nil) }
        finding = Finding(moves: moves, reading: reading, preparation: preparation, version: snapshot.version)
        handedOut = preparation
    }

    /// Removes and returns what is to be found beside the writer; nil if there is nothing, or if it was taken already.
    func takeReading() -> QueryPreparation? {
        defer { handedOut = nil }
        return handedOut
    }

    /// Takes what was found.
    ///
    /// - Returns: nil if the preparation is of another kind.
    func finish(_ preparation: QueryPreparation) -> Found? {
        guard let finding, finding.preparation === preparation else { return nil }
        self.finding = nil
        if case .failed(let error) = preparation.outcome {
            database.noteFailure("what readers gain and lose could not be found", error, at: .debug)
        }
        let reading = finding.reading
        held += reading.lists.map { Held(list: $0) }
        let outcomes = finding.moves.enumerated().map { position, move in
            (move, position < reading.outcomes.count ? reading.outcomes[position] : .unknown)
        }
        return Found(outcomes: outcomes, version: finding.version, listCount: reading.lists.count)
    }

    // MARK: Losses

    /// Notes what a session is told of another subscription while it waits: its client drops what has left there, and
    /// has to be sent it if it is back.
    func noteDepartures(_ delta: ViewDelta, of view: SharedView) {
        guard isFinding || !waiting.isEmpty, !delta.left.isEmpty || !delta.linkedLeft.isEmpty else { return }
        let objects = Set((delta.left + delta.linkedLeft).map(\.object))
        for subscription in view.subscriptions { noteLoss(of: objects, by: subscription.session) }
    }

    /// Notes objects that a client drops. They concern the moves whose views may have them: of another class a view's
    /// context says nothing, so that it would be told to be forbidden.
    func noteLoss(of objects: Set<ObjectRef>, by session: SessionID) {
        for move in (finding?.moves ?? []) + waiting.flatMap(\.moves)
        where !move.isDivided && move.subscription.session == session {
            move.run.touch(objects.filter { move.classes?.contains($0.classIndex) ?? true })
        }
    }
}
