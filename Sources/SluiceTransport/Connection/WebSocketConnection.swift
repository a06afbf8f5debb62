import Glibc
import Synchronization

/// One WebSocket connection over a socket, of a server or of a client.
///
/// It drives a ``ConnectionMachine``, whose header documents the life of a connection: it reads and writes the socket,
/// carries out the machine's actions and keeps the timers. Everything but `orders` is used by the owner of the loop alone:
/// its thread, or one that has borrowed the loop to send a message.
final class WebSocketConnection: PollHandler, MessageConnection, @unchecked Sendable {
    let id: ConnectionID
    let peerDescription: String
    /// The user of this machine at the other end of a socket that is a file; nil elsewhere.
    let peerUser: UInt32?
    let loop: EventLoop
    let options: WebSocketOptions
    let role: ConnectionRole
    let orders: OwnerOrders

    var machine: ConnectionMachine
    /// The socket; nil before it is connected and after the end.
    var channel: SocketChannel?
    var sendQueue = SendQueue()
    /// The memory of the messages that were queued last, for those that follow.
    var emptiedMessages: [SharedBuffer] = []
    /// How many messages such memory holds at most.
    static let emptiedMessageCapacity = 16
    /// The payload of the latest ping, until its answer is queued.
    var owedPong: [UInt8]?
    var delegate: (any MessageConnectionDelegate)?
    /// What answers the request that is being received.
    var answer: (@Sendable (HTTPExchange) -> Void)?
    /// The request that is being answered, which belongs to who answers it.
    weak var exchange: HTTPExchange?
    /// Whether a part of the answer was queued.
    var hasBegunAnswer = false
    var connector: TCPConnector?
    var keepAlive: KeepAliveTimer?
    var deadline: Deadline?
    var writtenByteCount = 0
    /// Why a write failed that another thread tried, until the loop ends the connection.
    var failure: TransportError?
    /// Whether the owner is to be told that the queue has fallen to the low-water mark.
    var owesDrainNotice = false

    /// A running time limit.
    struct Deadline {
        var limit: ConnectionMachine.Limit
        var timer: UInt64
    }

    private static let lastID = Atomic<UInt64>(0)

    init(
        role: ConnectionRole, state: ConnectionMachine.State, peer: String, peerUser: UInt32? = nil, loop: EventLoop,
        options: WebSocketOptions, delegate: (any MessageConnectionDelegate)?
    ) {
        id = ConnectionID(rawValue: WebSocketConnection.nextID())
        self.role = role
        peerDescription = peer
        self.peerUser = peerUser
        self.loop = loop
        self.options = options
        self.delegate = delegate
        orders = OwnerOrders(lowWaterByteCount: options.lowWaterByteCount)
        machine = ConnectionMachine(
            side: role.side, state: state, messageByteCountMax: options.messageByteCountMax, peer: peer)
        if case .client = role, options.subprotocols.allSatisfy(WebSocketOptions.textSubprotocols.contains),
            !options.subprotocols.isEmpty
        {
            machine.takeText()
        }
    }

    /// A number for a new connection, unique among the socket and loopback connections of this process.
    static func nextID() -> UInt64 { lastID.wrappingAdd(1, ordering: .relaxed).newValue }

    override func ready(_ readiness: PollEvents) { serve(readiness) }

    override func flush() { carryOutOrders() }

    override func flushWhileAsleep() -> Bool { sendMessages() }

    override func loopWillStop() {
        perform(machine.end(TransportError(.aborted, "the event loop ended", outlook: .passing)))
    }
}

// MARK: - For the owner, on any thread

extension WebSocketConnection {
    var queuedBytes: Int { orders.queuedBytes }

    func send(_ message: SharedBuffer) {
        if orders.send(message, byteCount: frameByteCount(message)) { loop.scheduleFlush(self) }
    }

    func admit() {
        if case .server(let acceptor) = role { acceptor.admit(self) }
    }

    func close(code: CloseCode, reason: String) {
        if orders.close(code, reason: reason) { loop.scheduleFlush(self) }
    }

    func abort() {
        if orders.abort() { loop.scheduleFlush(self) }
    }

    func pauseReceiving(for reason: PauseReason) {
        if orders.pause(for: reason) { loop.scheduleFlush(self) }
    }

    func resumeReceiving(after reason: PauseReason) {
        if orders.resume(after: reason) { loop.scheduleFlush(self) }
    }

    /// The length of a message on the wire, frame header included.
    private func frameByteCount(_ message: SharedBuffer) -> Int {
        switch role {
        case .server: message.frame.count
        case .client: message.frame.count + FrameHeader.maskByteCount
        }
    }
}
