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
    /// The subscriptions that the server was told of, by their numbers in this session.
    var subscribed: [UInt64: Subscription] = [:]
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
    private(set) var rejections: [UInt64: ServerMessage.Rejection] = [:]
    /// Parts of a commit that goes on in the next frame.
    var parts: [ServerMessage] = []

    var isActive: Bool { phase == .active }

    mutating func note(_ rejections: [ServerMessage.Rejection]) {
        for rejection in rejections { self.rejections[rejection.sequence] = rejection }
    }

    /// Forgets the rejections of transactions that have left the outbox.
    mutating func forgetRejections(through sequence: UInt64) {
        guard !rejections.isEmpty else { return }
        rejections = rejections.filter { $0.key > sequence }
    }

    /// Forgets what belonged to the last connection.
    mutating func reset(to phase: Phase) {
        self = SyncSession()
        self.phase = phase
    }
}
