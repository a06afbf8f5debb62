/// Where a store is between the wish to sync and an open session.
///
///     phase        attempt     connected   hello     opened   come again   stop       pause     failure
///     ---------------------------------------------------------------------------------------------------
///     stopped      connecting  =           –         –        =            =          =         failed
///     paused       connecting  =           –         –        =            stopped    =         failed
///     waiting      connecting  =           –         –        =            stopped    paused    failed
///     connecting   –           greeting    –         –        waiting      stopped    paused    failed
///     greeting     –           =           opening   –        waiting      stopped    paused    failed
///     opening      –           =           –         active   waiting      stopped    paused    failed
///     active       –           =           –         –        waiting      stopped    paused    failed
///     failed       connecting  =           –         –        =            stopped    =         failed
///
/// `=` leaves the phase, `–` is refused with an ``IllegalTransition``: hello and opened are then violations of the
/// protocol, and only our own code attempts. Each phase outside of a connection forgets what belonged to the last.
///
/// What the program and the machine wish depends on the phase too, and is a ``Reaction``:
///
///     phase        start       resume     after failure   now        wait over   network changed
///     --------------------------------------------------------------------------------------------
///     stopped      attempt     –          –               –          –           –
///     paused       attempt     attempt    –               –          –           –
///     waiting      –           –          –               at once    attempt     at once
///     connecting   –           –          –               –          –           give up
///     greeting     –           –          –               –          –           give up
///     opening      –           –          –               –          –           give up
///     active       –           –          –               –          –           probe
///     failed       attempt     –          attempt         –          –           –
enum SessionPhase: Sendable, Hashable {
    /// Syncing is not wanted.
    case stopped
    /// Syncing is not wanted for now.
    case paused
    /// The store waits before the next attempt.
    case waiting
    /// The store is connecting.
    case connecting
    /// Hello and open were sent, and the server has not said hello.
    case greeting
    /// The server has said hello, and not opened the session.
    case opening
    /// The session is open: subscriptions and uploads flow.
    case active
    /// Syncing ended with an error, and trying again would not help.
    case failed(SyncError)

    enum Event: Sendable, Hashable {
        case attempt
        case connected
        case hello
        case opened
        /// The connection has ended, or is given up, and another attempt follows.
        case comeAgain
        case stop
        case pause
        case failure(SyncError)
    }

    /// What the program, a timer or the machine asks for.
    enum Wish: Sendable, Hashable, CaseIterable {
        case start
        case resume
        case retryAfterFailure
        case reconnectNow
        case waitOver
        case networkChanged
    }

    enum Reaction: Sendable, Hashable {
        case none
        case attempt
        /// An attempt, with the waits from the shortest again.
        case attemptAtOnce
        case probe
        /// The attempt that is under way may wait for an answer to where this machine is no more.
        case giveUp
    }

    /// An event that cannot happen in a phase.
    struct IllegalTransition: Error, Hashable {
        let phase: SessionPhase
        let event: Event

        var message: String { "\(event.name) came while the session was \(phase.name)" }
    }

    /// The phase after an event.
    ///
    /// - Throws: ``IllegalTransition``, which names the phase and the event.
    func after(_ event: Event) throws(IllegalTransition) -> SessionPhase {
        switch (self, event) {
        case (.stopped, .attempt), (.paused, .attempt), (.waiting, .attempt), (.failed, .attempt): .connecting
        case (.connecting, .connected): .greeting
        case (_, .connected): self
        case (.greeting, .hello): .opening
        case (.opening, .opened): .active
        case (.connecting, .comeAgain), (.greeting, .comeAgain), (.opening, .comeAgain), (.active, .comeAgain): .waiting
        case (.stopped, .comeAgain), (.paused, .comeAgain), (.waiting, .comeAgain), (.failed, .comeAgain): self
        case (_, .stop): .stopped
        case (.waiting, .pause), (.connecting, .pause), (.greeting, .pause), (.opening, .pause), (.active, .pause):
            .paused
        case (.stopped, .pause), (.paused, .pause), (.failed, .pause): self
        case (_, .failure(let error)): .failed(error)
        case (_, .attempt), (_, .hello), (_, .opened): throw IllegalTransition(phase: self, event: event)
        }
    }

    /// What a wish comes to.
    func reaction(to wish: Wish) -> Reaction {
        switch (self, wish) {
        case (.stopped, .start), (.paused, .start), (.failed, .start): .attempt
        case (.paused, .resume), (.failed, .retryAfterFailure), (.waiting, .waitOver): .attempt
        case (.waiting, .reconnectNow), (.waiting, .networkChanged): .attemptAtOnce
        case (.active, .networkChanged): .probe
        case (.connecting, .networkChanged), (.greeting, .networkChanged), (.opening, .networkChanged): .giveUp
        case (_, .start), (_, .resume), (_, .retryAfterFailure), (_, .reconnectNow), (_, .waitOver),
            (_, .networkChanged):
            .none
        }
    }

    /// Whether there is a connection, or an attempt at one.
    var isTrying: Bool {
        switch self {
        case .connecting, .greeting, .opening, .active: true
        case .stopped, .paused, .waiting, .failed: false
        }
    }

    /// Whether messages from the server count.
    var isListening: Bool { self == .greeting || self == .opening || self == .active }

    fileprivate var name: String {
        switch self {
        case .stopped: "stopped"
        case .paused: "paused"
        case .waiting: "waiting for the next attempt"
        case .connecting: "connecting"
        case .greeting: "waiting for the server's hello"
        case .opening: "opening"
        case .active: "open"
        case .failed: "over because of an error"
        }
    }
}

extension SessionPhase.Event {
    fileprivate var name: String {
        switch self {
        case .attempt: "an attempt to connect"
        case .connected: "a connection"
        case .hello: "the server's hello"
        case .opened: "the answer to open"
        case .comeAgain: "the end of the connection"
        case .stop: "the wish to stop"
        case .pause: "the wish to pause"
        case .failure: "an error"
        }
    }
}
