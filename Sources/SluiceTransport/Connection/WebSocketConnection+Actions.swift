extension WebSocketConnection {
    /// Carries out an action of the machine. Bytes that the action queues are written later, by
    /// ``write(isUnblocked:)``.
    func perform(_ action: ConnectionMachine.Action?) {
        switch action {
        case nil: return
        case .decide(let request, let subprotocol): decide(request, subprotocol)
        case .sendPage(let request): sendPage(request)
        case .send(let response): enqueue(SharedBuffer(response.encoded()))
        case .opened: didOpen()
        case .deliver(let message):
            if !orders.isEndedByOwner { delegate?.connection(self, didReceive: message) }
        // Only the latest ping needs an answer (RFC 6455, section 5.5.3).
        case .pong(let payload): owedPong = Array(payload)
        case .sendClose(let code, let reason):
            enqueueOwedPong()
            enqueue(FrameEncoder.close(code, reason: reason, maskKey: role.nextMask))
        case .endWriting: channel?.endWriting()
        case .finish(let error):
            channel?.endWriting()
            end(error)
        case .end(let error): end(error)
        }
        if !machine.isOpen { keepAlive = nil }
        updateDeadline()
    }

    /// Ends the connection of a peer that has not logged in, and tells the peer why.
    func dismiss(_ reason: String) {
        let error = TransportError(.resourcesExhausted, reason)
        switch machine.state {
        case .connecting, .securing: fail(error)
        case .upgrading:
            perform(machine.refuse(HTTPResponse(status: 503, text: reason), error))
            write()
        case .open, .paused: close(code: .tryAgainLater, reason: reason)
        case .closing, .finishing, .draining, .lingering, .ended: break
        }
    }

    /// Reading, writing or connecting failed.
    func fail(_ error: TransportError) { perform(machine.fail(error)) }

    private func decide(_ request: HTTPRequest, _ subprotocol: String?) {
        guard case .server(let acceptor) = role else { return }
        switch acceptor.decide(request, for: self) {
        case .accept(let delegate):
            self.delegate = delegate
            enqueue(SharedBuffer(ServerHandshake.response(to: request, subprotocol: subprotocol)))
            perform(machine.accept())
        case .reject(let status, let text):
            perform(machine.refuse(HTTPResponse(status: status, text: text), nil))
        }
    }

    private func sendPage(_ request: HTTPRequest) {
        guard case .server(let acceptor) = role else { return }
        let page = acceptor.page(for: request) ?? HTTPResponse(status: 404, text: "there is nothing at this path")
        enqueue(SharedBuffer(page.encoded(includesBody: request.method != "HEAD")))
    }

    private func didOpen() {
        keepAlive = KeepAliveTimer(options, loop: loop) { [weak self] in self?.keepAliveIsDue() }
        delegate?.connectionDidOpen(self)
        // Messages sent during the opening wait among the orders.
        loop.scheduleFlush(self)
    }

    private func keepAliveIsDue() {
        // While nothing is read, silence says nothing about the peer.
        if machine.isPaused { keepAlive?.didReceive() }
        switch keepAlive?.tick() {
        case .wait, nil: break
        case .ping: ping()
        case .giveUp:
            fail(
                TransportError(
                    .peerSilent, "\(peerDescription) sent and took nothing for \(options.pongTimeout) after a ping",
                    outlook: .passing))
        }
    }

    private func ping() {
        enqueue(
            FrameEncoder.frame(.ping, payload: UnsafeRawBufferPointer(start: nil, count: 0), maskKey: role.nextMask))
        write()
    }

    package func probe(timeout: Duration) {
        loop.execute { [self] in
            guard machine.isOpen, let keepAlive else { return }
            keepAlive.probe(timeout: timeout)
            ping()
        }
    }

    /// The only place where a connection ends.
    private func end(_ error: TransportError?) {
        connector?.cancel()
        connector = nil
        channel.take()?.close()
        orders.end()
        sendQueue.removeAll()
        owedPong = nil
        let delegate = self.delegate
        self.delegate = nil
        delegate?.connection(self, didCloseWith: error)
        if case .server(let acceptor) = role {
            acceptor.remove(self, refusedBecause: delegate == nil ? error : nil)
        }
    }
}

// MARK: - Time limits

extension WebSocketConnection {
    /// How long a refused connection waits for its peer to end.
    private static let lingerTime = Duration.seconds(2)

    /// Starts or stops the timer, so that it is the one of the machine's current limit.
    func updateDeadline() {
        let limit = machine.limit
        guard limit != deadline?.limit else { return }
        if let deadline { loop.cancel(deadline.timer) }
        deadline = limit.map { Deadline(limit: $0, timer: schedule($0)) }
    }

    private func schedule(_ limit: ConnectionMachine.Limit) -> UInt64 {
        let time =
            switch limit {
            case .opening: options.openTimeout
            case .closing: options.closeTimeout
            case .lingering: WebSocketConnection.lingerTime
            }
        let written = writtenByteCount
        return loop.schedule(after: time) { [weak self] in
            guard let self else { return }
            deadline = nil
            // A long queue before the close frame may take longer, as long as parts of it are written.
            if limit == .closing, writtenByteCount != written, !sendQueue.isEmpty { return updateDeadline() }
            perform(machine.timeOut(after: time))
        }
    }
}
