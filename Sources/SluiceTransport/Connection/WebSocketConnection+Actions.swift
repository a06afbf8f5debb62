extension WebSocketConnection {
    /// Carries out an action of the machine. Bytes that the action queues are written later, by
    /// ``write(isUnblocked:)``.
    func perform(_ action: ConnectionMachine.Action?) {
        switch action {
        case nil: return
        case .decide(let request, let subprotocol): decide(request, subprotocol)
        case .route(let request): route(request)
        case .sendContinue: enqueue(SharedBuffer(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)))
        case .answer(let request, let body): beginAnswer(to: request, body)
        case .send(let response, let includesBody):
            enqueue(SharedBuffer(response.encoded(includesBody: includesBody)))
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
        case .upgrading, .receiving:
            perform(machine.refuse(HTTPResponse(status: 503, text: reason), error))
            write()
        case .open, .paused: close(code: .tryAgainLater, reason: reason)
        case .answering, .closing, .finishing, .draining, .lingering, .ended: break
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
            if subprotocol.map(WebSocketOptions.textSubprotocols.contains) ?? false { machine.takeText() }
            perform(machine.accept())
        case .reject(let status, let text):
            perform(machine.refuse(HTTPResponse(status: status, text: text), nil))
        }
    }

    private func route(_ request: HTTPRequest) {
        guard case .server(let acceptor) = role else { return }
        switch acceptor.route(request, for: self) {
        case .respond(let response): perform(machine.respond(response, to: request))
        case .take(let byteCountMax, let answer):
            self.answer = answer
            perform(machine.take(request, bodyByteCountMax: byteCountMax))
        }
    }

    private func beginAnswer(to request: HTTPRequest, _ body: [UInt8]) {
        guard case .server(let acceptor) = role, let answer else { return }
        self.answer = nil
        if let response = acceptor.beginAnswer(on: self) { return perform(machine.refuse(response, nil)) }
        let exchange = HTTPExchange(request, body: body, to: self, from: peerDescription, of: peerUser)
        self.exchange = exchange
        answer(exchange)
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
        answer = nil
        exchange?.didEnd()
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
            case .answering: options.answerTimeout
            case .closing: options.closeTimeout
            case .lingering: WebSocketConnection.lingerTime
            }
        let written = writtenByteCount
        return loop.schedule(after: time) { [weak self] in
            guard let self else { return }
            deadline = nil
            // A long queue before the close frame may take longer, as long as parts of it are written.
            if limit == .closing, writtenByteCount != written, !sendQueue.isEmpty { return updateDeadline() }
            if limit == .answering, orders.takeWork() { return updateDeadline() }
            if limit == .answering, hasBegunAnswer, writtenByteCount != written || sendQueue.isEmpty {
                return updateDeadline()
            }
            perform(machine.timeOut(after: time, hasBegunAnswer: hasBegunAnswer))
            write()
        }
    }
}

// MARK: - Answers to requests

extension WebSocketConnection: HTTPOutput {
    func sendAnswer(_ bytes: [UInt8]) { if orders.sendAnswer(SharedBuffer(bytes)) { loop.scheduleFlush(self) } }

    func noteWork() { orders.noteWork() }

    func endAnswer() { if orders.endAnswer() { loop.scheduleFlush(self) } }

    func abortAnswer() { abort() }

    var isAnswerHeldUp: Bool { orders.isHeldUp }
}
