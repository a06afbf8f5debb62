import Glibc

@testable import SluiceTransport

/// One end of a pair of sockets whose other end belongs to a connection. The test decides which bytes arrive when.
final class WireEnd {
    let socket: Int32
    private var descriptor: Int32
    /// The bytes that the connection has written and the test has not taken.
    private(set) var written: [UInt8] = []
    private(set) var isEnded = false
    private var outgoing: [UInt8] = []
    private var buffer = [UInt8](repeating: 0, count: 65_536)
    /// How many bytes the connection was given.
    private(set) var deliveredCount = 0

    init() throws {
        var ends: [Int32] = [0, 0]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw TransportError.system(errno, "make a pair") }
        (socket, descriptor) = (ends[0], ends[1])
    }

    deinit { close() }

    /// Collects the bytes that the connection has written.
    func collect() {
        while !isEnded {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count == 0 { isEnded = true }
            guard count > 0 else { return }
            written += buffer[..<count]
        }
    }

    func takeWritten() -> [UInt8] {
        defer { written = [] }
        return written
    }

    /// Queues bytes for the connection.
    func queue(_ bytes: [UInt8]) { outgoing += bytes }

    var queuedCount: Int { outgoing.count }

    /// Passes the next queued bytes to the connection, as many as the kernel accepts.
    @discardableResult
    func deliver(_ count: Int) -> Int {
        let piece = outgoing.prefix(count)
        let sent = piece.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard sent > 0 else { return 0 }
        outgoing.removeFirst(sent)
        deliveredCount += sent
        return sent
    }

    func endWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

    func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }
}

/// A client and a server connection on one thread, between which the test controls every byte.
final class ConnectionPair {
    let loop: EventLoop
    let clientEnd: WireEnd
    let serverEnd: WireEnd
    let client: WebSocketConnection
    let server: WebSocketConnection

    /// - Parameter tls: the contexts of the client and the server; nil for connections without TLS.
    init(
        _ clientTape: Tape, _ serverTape: Tape, loop: EventLoop, tls: (client: TLSContext, server: TLSContext)? = nil
    ) throws {
        self.loop = loop
        clientEnd = try WireEnd()
        serverEnd = try WireEnd()
        let endpoint = try Endpoint("\(tls == nil ? "ws" : "wss")://localhost:1/x")
        let handshake = ClientHandshake(key: "dGhlIHNhbXBsZSBub25jZQ==", subprotocols: ["sluice.1"], server: "server")
        let opening = ClientOpening(
            endpoint: endpoint, tls: tls?.client, handshake: handshake,
            request: try handshake.request(for: endpoint, headers: [:]))
        client = WebSocketConnection(
            role: .client(opening), state: .connecting, peer: "server", loop: loop, options: .init(),
            delegate: clientTape)
        server = WebSocketConnection(
            role: .server(TapeAcceptor(tls: tls?.server, tape: serverTape)), state: .connecting, peer: "client",
            loop: loop, options: .init(), delegate: nil)
        client.start(clientEnd.socket)
        server.start(serverEnd.socket)
    }

    /// Lets the connections handle what they have been given.
    func turn() {
        for _ in 0..<3 { loop.turn(waits: false) }
        clientEnd.collect()
        serverEnd.collect()
        serverEnd.queue(clientEnd.takeWritten())
        clientEnd.queue(serverEnd.takeWritten())
        if clientEnd.isEnded, serverEnd.queuedCount == 0 { serverEnd.endWriting() }
        if serverEnd.isEnded, clientEnd.queuedCount == 0 { clientEnd.endWriting() }
    }

    /// Carries all bytes in both directions until nothing moves.
    func settle() {
        var idleCount = 0
        // The end of one direction moves no byte, and each side needs a turn to notice it.
        while idleCount < 3 {
            turn()
            idleCount = clientEnd.deliver(.max) + serverEnd.deliver(.max) > 0 ? 0 : idleCount + 1
        }
    }

    func tearDown() {
        client.abort()
        server.abort()
        turn()
    }
}
