import Glibc
import Synchronization

/// One WebSocket connection over a socket, of a server or of a client.
///
/// Everything but `outbound`, `queued` and `isEndedByOwner` is kept to the loop's thread.
final class WebSocketConnection: PollHandler, MessageConnection, @unchecked Sendable {
    /// Who made the connection and what it takes to open it.
    enum Role {
        case server(ServerCore)
        case client(ClientCore)
    }

    enum Phase {
        /// A client looks for its server.
        case connecting
        case tlsHandshake
        /// The HTTP request or answer is awaited.
        case upgrade
        case open
        /// A close frame was sent; the peer's is awaited, or the end of the connection.
        case closing
        /// What is queued leaves, then writing ends; what comes is thrown away.
        case draining
        case closed
    }

    enum Handshake {
        case server(ServerHandshake)
        case client(ClientHandshake)
    }

    struct Outbound {
        var messages: [SharedBuffer] = []
        var isFlushScheduled = false
        var isAboveLowWater = false
        var isPauseWanted = false
        var isAbortWanted = false
        var isEnded = false
        var close: (code: CloseCode, reason: String)?
    }

    let id: ConnectionID
    let peerDescription: String
    let loop: EventLoop
    let options: WebSocketOptions
    let role: Role

    let outbound = Mutex(Outbound())
    let queued = Atomic<Int>(0)
    let isEndedByOwner = Atomic<Bool>(false)

    var phase: Phase
    var delegate: (any MessageConnectionDelegate)?
    var descriptor: Int32 = -1
    var interest: Readiness = []
    var tls: TLSSession?
    var connector: TCPConnector?
    var handshake: Handshake?
    var decoder: FrameDecoder
    var sendQueue = SendQueue()
    var pendingPong: [UInt8]?
    var isWriteBlocked = false
    var isPaused = false
    var isCloseReceived = false
    /// What the delegate will be told when the connection ends.
    var closeError: TransportError?
    /// Bytes that were read but may not be delivered while receiving is paused.
    var leftover: [UInt8] = []
    var keepAlive: KeepAlive?
    var keepAliveTimer: UInt64?
    /// Limits the time of opening or closing.
    var deadlineTimer: UInt64?
    var writtenByteCount = 0

    private static let lastID = Atomic<UInt64>(0)

    init(
        role: Role, phase: Phase, peer: String, loop: EventLoop, options: WebSocketOptions,
        delegate: (any MessageConnectionDelegate)?
    ) {
        id = ConnectionID(rawValue: WebSocketConnection.nextID())
        self.role = role
        self.phase = phase
        peerDescription = peer
        self.loop = loop
        self.options = options
        self.delegate = delegate
        let side: FrameDecoder.Side =
            switch role {
            case .server: .server
            case .client: .client
            }
        decoder = FrameDecoder(side: side, messageByteCountMax: options.messageByteCountMax)
    }

    /// A number for a new connection, of whatever kind.
    static func nextID() -> UInt64 { lastID.wrappingAdd(1, ordering: .relaxed).newValue }

    var isServer: Bool {
        switch role {
        case .server: true
        case .client: false
        }
    }

    /// A fresh mask for a client's frame; a server does not mask.
    var nextMask: UInt32? { isServer ? nil : UInt32.random(in: .min ... .max) }

    override func ready(_ readiness: Readiness) { serve(readiness) }

    override func flush() { carryOutOrders() }

    override func loopWillStop() {
        terminate(TransportError(.aborted, "the event loop ended", isTransient: true))
    }
}

// MARK: - For the owner, on any thread

extension WebSocketConnection {
    var queuedBytes: Int { queued.load(ordering: .relaxed) }

    func send(_ message: SharedBuffer) {
        let byteCount = frameByteCount(message)
        order { outbound in
            guard !outbound.isEnded, outbound.close == nil, !outbound.isAbortWanted else { return false }
            outbound.messages.append(message)
            let total = queued.add(byteCount, ordering: .relaxed).newValue
            if total > options.lowWaterByteCount { outbound.isAboveLowWater = true }
            return true
        }
    }

    func close(code: CloseCode, reason: String) {
        isEndedByOwner.store(true, ordering: .relaxed)
        order { outbound in
            guard outbound.close == nil else { return false }
            outbound.close = (code, reason)
            return true
        }
    }

    func abort() {
        isEndedByOwner.store(true, ordering: .relaxed)
        order { outbound in
            outbound.isAbortWanted = true
            return true
        }
    }

    func pauseReceiving() {
        order { outbound in
            outbound.isPauseWanted = true
            return true
        }
    }

    func resumeReceiving() {
        order { outbound in
            outbound.isPauseWanted = false
            return true
        }
    }

    /// The length of a message on the wire.
    func frameByteCount(_ message: SharedBuffer) -> Int { message.frame.count + (isServer ? 0 : 4) }

    /// Changes what the loop shall do and, if so, has it done at the end of its turn.
    private func order(_ change: (inout Outbound) -> Bool) {
        let mustSchedule = outbound.withLock { outbound in
            guard change(&outbound), !outbound.isEnded, !outbound.isFlushScheduled else { return false }
            outbound.isFlushScheduled = true
            return true
        }
        if mustSchedule { loop.scheduleFlush(self) }
    }
}
