import Glibc
import Synchronization

extension WebSocketConnection {
    /// How long what comes after the end is read and thrown away, so that the peer sees the last words rather than a
    /// reset.
    private static let lingerTime = Duration.seconds(2)

    /// Queues a close frame after what is queued already.
    func beginClosing(_ code: CloseCode?, reason: String, error: TransportError?) {
        phase = .closing
        closeError = error
        stopKeepAlive()
        enqueueControl(FrameEncoder.close(code, reason: reason, maskKey: nextMask))
        limitClosing()
        updateInterest()
    }

    /// The peer broke a rule: says so and closes.
    func fail(_ error: TransportError) {
        guard phase == .open || phase == .closing else { return }
        if phase == .open {
            beginClosing(error.closeCode ?? .protocolError, reason: error.message, error: error)
        }
        beginDraining()
        write()
    }

    func didReceiveClose(_ code: CloseCode?, reason: String) {
        isCloseReceived = true
        if phase == .open {
            let code = code ?? .normal
            let error =
                code == .normal
                ? nil
                : TransportError(
                    .closedByPeer,
                    "\(peerDescription) closed the connection with code \(code)\(reason.isEmpty ? "" : ": \(reason)")",
                    isTransient: code.isTransient, closeCode: code)
            beginClosing(code, reason: "", error: error)
        }
        write()
    }

    /// Ends writing once the queue is empty, and the connection soon after.
    func beginDraining() {
        phase = .draining
        setDeadline(after: WebSocketConnection.lingerTime) { $0.terminate($0.closeError) }
        updateInterest()
    }

    /// The peer sends no more.
    func endOfInput() {
        switch phase {
        case .closing where isCloseReceived, .draining:
            terminate(closeError)
        case .upgrade:
            if case .client(let client) = handshake { return terminate(client.endOfInput()) }
            terminate(
                TransportError(
                    .connectionLost, "\(peerDescription) closed the connection before a whole request",
                    isTransient: true))
        default:
            terminate(
                closeError
                    ?? TransportError(
                        .connectionLost, "\(peerDescription) closed the connection without a closing handshake",
                        isTransient: true))
        }
    }

    /// Gives up a closing handshake that makes no progress.
    private func limitClosing() {
        let written = writtenByteCount
        setDeadline(after: options.closeTimeout) { connection in
            guard connection.writtenByteCount == written || connection.sendQueue.isEmpty else {
                return connection.limitClosing()
            }
            connection.terminate(
                connection.closeError
                    ?? TransportError(
                        .timedOut, "\(connection.peerDescription) did not answer the closing handshake",
                        isTransient: true))
        }
    }

    /// Ends the connection now. The only place that does.
    func terminate(_ error: TransportError?) {
        guard phase != .closed else { return }
        phase = .closed
        connector?.cancel()
        connector = nil
        clearDeadline()
        stopKeepAlive()
        if descriptor >= 0 {
            loop.deregister(descriptor)
            tls = nil
            Glibc.close(descriptor)
            descriptor = -1
        }
        outbound.withLock { outbound in
            outbound.isEnded = true
            outbound.messages = []
            queued.store(0, ordering: .relaxed)
        }
        sendQueue.removeAll()
        leftover = []
        handshake = nil
        let delegate = self.delegate
        self.delegate = nil
        delegate?.connection(self, didCloseWith: error)
        if case .server(let core) = role {
            core.remove(self, refusedBecause: delegate == nil ? error : nil)
        }
    }

    func setDeadline(after delay: Duration, _ action: @escaping (WebSocketConnection) -> Void) {
        clearDeadline()
        deadlineTimer = loop.schedule(after: delay) { [weak self] in
            guard let self else { return }
            deadlineTimer = nil
            action(self)
        }
    }

    func clearDeadline() {
        if let deadlineTimer { loop.cancel(deadlineTimer) }
        deadlineTimer = nil
    }
}
