internal import SluiceModel
internal import SluiceWire

/// The state of the session with the server, and what is in transit in it.
struct SyncSession {
    enum Phase: Sendable, Equatable {
        /// Syncing is not wanted.
        case stopped
        /// The store waits before the next attempt.
        case waiting
        /// The store is connecting.
        case connecting
        /// Hello and open were sent.
        case opening
        /// The session is open: subscriptions and uploads flow.
        case active
        /// Syncing ended with an error, and trying again would not help.
        case failed(SyncError)
    }

    /// The number of the only session of the connection.
    static let number: UInt64 = 1

    var phase = Phase.stopped
    var map: SchemaMap?
    var serverSchema = Schema()
    /// Whether the server has sent its hello.
    var isGreeted = false
    /// Whether classes that waiting uploads need were declared, and the server has not answered.
    var awaitsSchema = false
    /// The features that both sides have.
    var features: Features = []
    /// The server's limits; before its hello, those that every server accepts.
    var limits = ServerLimits()
    var nextSubscription: UInt64 = 1
    /// The subscriptions that were requested in this session, by their numbers in it.
    var subscribed: [UInt64: Subscription] = [:]
    /// Whether complete subscriptions are still at the state of the last session, since the server has not yet sent
    /// what changed meanwhile.
    var awaitsCatchUp = false
    /// Why the server accepts no uploads in this session, which the outbox keeps; nil if it does.
    var uploadProblem: SyncError?
    /// What the server reported, and goes on with.
    var reportedProblem: String?
    /// The highest sequence that was sent in this session.
    var sentSequence: UInt64 = 0
    var underWay = UploadsUnderWay()
    /// The highest acknowledged sequence. The outbox keeps the changesets until the server's state of their objects is
    /// here too.
    var acknowledged: UInt64 = 0
    /// The version of messages that only acknowledged and that no transaction has stored yet; nil if there are none.
    var postponedVersion: UInt64?
    /// For how many more members digests may be made, so that opening a session costs little.
    var digestObjectCountLeft = 0
    /// The rejections of transactions in the outbox, by sequence.
    private(set) var rejections: [UInt64: ServerMessage.Rejection] = [:]
    /// The parts of a commit that continues in the next frame.
    var parts: [ServerMessage] = []

    var isActive: Bool { phase == .active }

    mutating func note(_ rejections: [ServerMessage.Rejection]) {
        for rejection in rejections { self.rejections[rejection.sequence] = rejection }
    }

    /// Drops the rejections of transactions that have left the outbox.
    mutating func forgetRejections(through sequence: UInt64) {
        guard !rejections.isEmpty else { return }
        rejections = rejections.filter { $0.key > sequence }
    }

    /// Drops everything that belonged to the last connection.
    mutating func reset(to phase: Phase) {
        self = SyncSession()
        self.phase = phase
    }
}
