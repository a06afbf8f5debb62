import Foundation
import Glibc

/// A TCP proxy before a server on this machine, which loses, delays and cuts what passes through it.
package final class Proxy: @unchecked Sendable {
    /// What happens to what arrives.
    package enum Mode: Sendable {
        case forwards
        /// Nothing is lost, and nothing passes.
        case holds
        /// The same, and neither side hears that the other has closed its connection: it is half-open.
        case vanishes
        /// What the server says is lost, and what clients say passes.
        case dropsReplies
        /// New connections are closed at once; those that are there go on.
        case refuses
    }

    /// A place in what a node and PostgreSQL say to each other.
    package enum Place: Sendable {
        /// An append that is no part of a turn has been sent, and has not passed: the proxy holds.
        case append
        /// PostgreSQL has said that a group is in the journal, and nobody has heard it: replies are dropped.
        case appended
    }

    /// The port of 127.0.0.1 at which the proxy listens.
    package let port: UInt16
    private let listener: Int32
    private let condition = NSCondition()
    // All below are guarded by `condition`.
    private var target: UInt16
    private var currentMode = Mode.forwards
    private var sockets: Set<Int32> = []
    private var heldCount = 0
    private var heldAppendCount = 0
    private var droppedCount = 0
    /// Where the mode changes by itself; nil once it has.
    private var awaitedPlace: Place?
    private var isStopped = false

    /// - Parameter target: the port of 127.0.0.1 at which the server listens.
    package init(to target: UInt16) throws {
        self.target = target
        (listener, port) = try Loopback.listen(backlog: 64)
        Thread.detachNewThread { [self] in accept() }
    }

    /// What happens from now on.
    package var mode: Mode {
        get { locked { currentMode } }
        set { locked { change(to: newValue) } }
    }

    /// Counts anew what is held or dropped.
    private func change(to mode: Mode) {
        (currentMode, heldCount, heldAppendCount, droppedCount, awaitedPlace) = (mode, 0, 0, 0, nil)
    }

    /// Lets everything pass until a place is reached for the next time, and waits for that.
    package func reach(_ place: Place) async throws {
        stop(at: place)
        try await waitForPlace()
    }

    /// Lets everything pass until a place is reached for the next time.
    package func stop(at place: Place) {
        locked {
            change(to: .forwards)
            awaitedPlace = place
        }
    }

    /// Waits until the place of ``stop(at:)`` is reached.
    package func waitForPlace() async throws { try await wait { $0.awaitedPlace == nil } }

    /// Leads new connections to another port of 127.0.0.1, and closes those that are there.
    package func lead(to port: UInt16) {
        locked { target = port }
        cut()
    }

    /// Closes all connections.
    package func cut() { locked { for socket in sockets { shutdown(socket, Int32(SHUT_RDWR)) } } }

    /// Closes all connections, and listens no more.
    package func stop() {
        locked { isStopped = true }
        cut()
        shutdown(listener, Int32(SHUT_RDWR))
    }

    /// Waits until something that clients have said is held, since the mode was set.
    package func waitForHeld() async throws { try await wait { $0.heldCount > 0 } }

    /// Whether an append, or the preparation of one, is held, since the mode was set.
    package var hasHeldAppend: Bool { locked { heldAppendCount > 0 } }

    /// Waits until an append, or the preparation of one, is held, since the mode was set.
    package func waitForHeldAppend() async throws { try await wait { $0.heldAppendCount > 0 } }

    /// Waits until something that the server has said was lost, since the mode was set.
    package func waitForDropped() async throws { try await wait { $0.droppedCount > 0 } }

    private func wait(until holds: @escaping @Sendable (Proxy) -> Bool) async throws {
        try await blocking { [self] in
            let deadline = Date(timeIntervalSinceNow: waitMax / .seconds(1))
            condition.lock()
            defer { condition.unlock() }
            while !holds(self) {
                guard condition.wait(until: deadline) else { throw Failure("nothing came through the proxy") }
            }
        }
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        condition.lock()
        defer {
            condition.broadcast()
            condition.unlock()
        }
        return body()
    }

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            if client < 0, errno == EINTR { continue }
            guard client >= 0, !locked({ isStopped }) else { break }
            // No program that a test starts from now on keeps the connection open.
            _ = fcntl(client, F_SETFD, FD_CLOEXEC)
            let server = Loopback.socket()
            guard mode != .refuses, Loopback.withAddress(port: locked { target }, { connect(server, $0, $1) }) == 0
            else {
                close(client)
                close(server)
                continue
            }
            locked { sockets.formUnion([client, server]) }
            let link = Link(client: client, server: server) { [self] in locked { sockets.subtract([client, server]) } }
            Thread.detachNewThread { [self] in forward(link, from: client, to: server, isReply: false) }
            Thread.detachNewThread { [self] in forward(link, from: server, to: client, isReply: true) }
        }
        close(listener)
    }

    /// Two sockets, which are closed when neither direction uses them any more.
    private final class Link: @unchecked Sendable {
        let client: Int32
        let server: Int32
        let forget: @Sendable () -> Void
        /// Guarded by the proxy's condition.
        var conversation = PostgresConversation()

        init(client: Int32, server: Int32, forget: @escaping @Sendable () -> Void) {
            self.client = client
            self.server = server
            self.forget = forget
        }

        deinit {
            forget()
            close(client)
            close(server)
        }
    }

    private func forward(_ link: Link, from source: Int32, to target: Int32, isReply: Bool) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = recv(source, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                if mode == .vanishes { _ = passes(isReply: isReply) }
                break
            }
            let isPlace = locked { notePlace(in: buffer[..<count], of: link, isReply: isReply) }
            guard passes(isReply: isReply) else { break }
            guard !(isReply && (isPlace || mode == .dropsReplies)) else {
                locked { droppedCount += 1 }
                continue
            }
            var rest = buffer[..<count]
            while !rest.isEmpty {
                let sent = rest.withUnsafeBytes { send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard sent > 0 else { break }
                rest = rest.dropFirst(sent)
            }
        }
        for socket in [link.client, link.server] { shutdown(socket, Int32(SHUT_RDWR)) }
    }

    /// Changes the mode where what arrives is the awaited place.
    ///
    /// - Returns: whether it is.
    private func notePlace(in bytes: ArraySlice<UInt8>, of link: Link, isReply: Bool) -> Bool {
        if isReply {
            guard link.conversation.hear(server: bytes), awaitedPlace == .appended else { return false }
            change(to: .dropsReplies)
            return true
        }
        guard let request = link.conversation.hear(client: bytes) else { return false }
        if currentMode == .holds { heldAppendCount += 1 }
        guard request == .appends, awaitedPlace == .append else { return false }
        change(to: .holds)
        return true
    }

    /// Waits while the proxy holds.
    ///
    /// - Returns: false if the proxy was stopped meanwhile.
    private func passes(isReply: Bool) -> Bool {
        condition.lock()
        defer { condition.unlock() }
        if currentMode == .holds, !isReply {
            heldCount += 1
            condition.broadcast()
        }
        while currentMode == .holds || currentMode == .vanishes, !isStopped { condition.wait() }
        return !isStopped
    }
}
