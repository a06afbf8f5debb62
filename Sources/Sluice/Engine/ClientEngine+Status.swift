internal import SluiceModel
internal import SluiceStorage

/// What syncing does now, and how much has happened.
extension ClientEngine {
    /// What syncing does now. O(1).
    package var sessionStatus: SessionStatus {
        let problem = lastProblem
        switch session.phase {
        case .stopped: return .stopped
        case .paused: return SessionStatus(state: .paused, connection: .disconnected, activity: .stopped)
        case .failed(let error):
            let needsCredentials = error.code == .notAuthenticated
            return SessionStatus(
                state: needsCredentials ? .needsCredentials : .failed(error), connection: .disconnected,
                activity: .stopped, problem: error.message)
        case .waiting:
            return SessionStatus(state: .active, connection: .disconnected, activity: .offline, problem: problem)
        case .connecting, .greeting, .opening:
            return SessionStatus(state: .active, connection: .connecting, activity: .connecting, problem: problem)
        case .active:
            let isIdle = outbox.isEmpty && active.isSettled
            return SessionStatus(
                state: .active, connection: .connected, activity: isIdle ? .idle : .busy,
                login: session.login.accepted, problem: problem)
        }
    }

    /// Says what syncing does now, to who follows that.
    package func reportStatus() { if syncs { onStatus?(sessionStatus) } }

    /// How far the server's clock was ahead of this machine's when the last session opened; nil before the first one.
    package var serverClockOffset: Duration? { session.login.serverClockOffset.map { .microseconds($0) } }

    /// Whether an attempt to connect is running.
    package var isConnecting: Bool { session.phase == .connecting }

    /// Whether a connection or a session is being opened.
    package var isOpening: Bool { session.phase.isTrying && !session.isActive }

    /// Whether a handler on the store's own queue has an event that it has not handled.
    package var hasBusyObservers: Bool { observations.hasBusyObservers }

    /// Whether a session is open.
    package var isSessionOpen: Bool { session.isActive }

    /// The session token that the server gave at the last login; nil if it gave none.
    package var sessionToken: String? { session.login.sessionToken }

    /// Why the last session or attempt ended; nil once the server has sent content again, and acknowledged something if
    /// it had reported a problem.
    package var lastProblem: String? { session.problem(acknowledged: outbox.acknowledgedSequence) }

    /// Why those who wait for the server still wait, and what would help; nil if nothing is wrong.
    package var obstacle: String? {
        switch session.phase {
        case .paused: "syncing is paused; store.session?.resume() goes on"
        case .stopped, .failed: session.standstill?.message
        case .waiting: lastProblem
        case .connecting, .greeting, .opening: lastProblem ?? "the server has not answered the attempt to connect yet"
        case .active: sessionStatus.activity == .idle ? lastProblem : lastProblem ?? session.silence(until: now())
        }
    }

    /// Reports which objects travel.
    ///
    /// - Parameters:
    ///   - hasListeners: whether anybody listens.
    ///   - report: called for each step that has carried objects.
    package func reportTransfers(while hasListeners: @escaping () -> Bool, _ report: @escaping (ObjectTransfer) -> Void)
    {
        transfers.hasListeners = hasListeners
        transfers.onTransfer = report
    }

    /// Tells those who watch transfers what the last event has changed.
    package func reportProgress() { progress.report() }

    /// The highest sequence that the server is known to have.
    package var acknowledgedSequence: UInt64 { outbox.acknowledgedSequence }

    /// How many times a subscription was compared with the server's digest.
    package var checkCount: Int { checks.count }

    /// How many times a subscription differed from the server's digest and was fetched anew.
    package var mismatchCount: Int { checks.mismatchCount }

    /// Called when a subscription differs from the server's digest.
    package var onMismatch: (() -> Void)? {
        get { checks.onMismatch }
        set { checks.onMismatch = newValue }
    }

    /// How many pending operations were read to compute visible rows. Tests use it to see how this work grows.
    package var pendingReadCount: Int { images.readCount }

    /// How many subscriptions were looked at to find those that have an object. Tests use it to see how this work grows.
    package var lookedAtSubscriptionCount: Int { storage.lookedAtCount }

    /// How much work observing has cost. Tests use it to see how this work grows.
    package var observationWork: ObservationWork { observations.work }

    /// How many results all observers hold in memory, including those beyond a limit. O(observers).
    package var heldResultCount: Int { observations.heldResultCount }

    /// How many edits wait for busy consumers. O(observers).
    package var waitingEditCount: Int { observations.waitingEditCount }
}
