internal import SluiceModel
internal import SluiceWire

/// Where the session with the server stands, and what is under way in it.
struct SyncSession {
    enum Phase: Sendable, Equatable {
        /// Not wanted.
        case stopped
        /// Between attempts.
        case waiting
        /// The shell is connecting.
        case connecting
        /// Hello and open are sent.
        case opening
        /// Open: subscriptions and uploads flow.
        case active
        /// The server refused in a way that trying again would not change.
        case failed(SyncError)
    }

    /// The number of the only session of the connection.
    static let number: UInt64 = 1

    var phase = Phase.stopped
    var map: SchemaMap?
    var serverSchema = Schema()
    /// Whether the server has said hello.
    var isGreeted = false
    /// Whether the server was told of classes that waiting uploads need, and has not answered.
    var awaitsSchema = false
    /// What both sides can.
    var features: Features = []
    /// What the server takes; what every server takes before it has said so.
    var limits = ServerLimits()
    var nextSubscription: UInt64 = 1
    /// The interests that the server was told of, by the number of their subscription.
    var subscribed: [UInt64: Interest] = [:]
    /// Whether complete subscriptions stand where the last session left them, since the server has not yet said what
    /// became of any.
    var awaitsCatchUp = false
    /// The highest sequence that was sent in this session.
    var sentSequence: UInt64 = 0
    var underWay = UploadsUnderWay()
    /// The highest sequence that the server has taken; the outbox keeps it until the server's state is here too.
    var acknowledged: UInt64 = 0
    /// How many members digests may still be made of, so that opening a session costs little.
    var digestObjectCountLeft = 0
    /// What the server refused of the outbox's transactions, by sequence.
    private(set) var refusals: [UInt64: ServerMessage.Refusal] = [:]
    /// Parts of a commit that goes on in the next frame.
    var parts: [ServerMessage] = []

    var isActive: Bool { phase == .active }

    mutating func note(_ refusals: [ServerMessage.Refusal]) {
        for refusal in refusals { self.refusals[refusal.sequence] = refusal }
    }

    /// Forgets the refusals of transactions that have left the outbox.
    mutating func forgetRefusals(through sequence: UInt64) {
        guard !refusals.isEmpty else { return }
        refusals = refusals.filter { $0.key > sequence }
    }

    /// Forgets what belonged to the last connection.
    mutating func reset(to phase: Phase) {
        self = SyncSession()
        self.phase = phase
    }
}
