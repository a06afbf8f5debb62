extension WebSocketConnection {
    /// Whether the socket is not connected yet.
    var isConnecting: Bool { if case .connecting = machine.state { true } else { false } }

    /// Starts the time limit for opening.
    func begin() { updateDeadline() }

    /// Starts to serve a connected socket, and closes it at the end.
    func start(_ socket: Int32) {
        guard !machine.isEnded else {
            Socket.close(socket)
            return
        }
        begin()
        Socket.setNoDelay(socket)
        do throws(TransportError) {
            var tls: TLSSession?
            if let context = role.tls {
                tls = try TLSSession(context, descriptor: socket, host: role.host, peer: peerDescription)
            }
            channel = try SocketChannel(socket, tls: tls, loop: loop, handler: self)
        } catch {
            Socket.close(socket)
            return fail(error)
        }
        guard role.tls != nil else { return beginUpgrade() }
        machine.beginTLS()
        negotiateTLS()
    }

    /// Serves the socket, which epoll has reported as ready.
    func serve(_ readiness: PollEvents) {
        guard !machine.isEnded else { return }
        if case .securing = machine.state { return negotiateTLS() }
        if readiness.contains(.write) || channel?.writeWantsRead == true { write(isUnblocked: true) }
        guard !machine.isEnded else { return }
        if machine.isPaused || machine.isAnswering {
            if !readiness.isDisjoint(with: .failure), let error = channel?.takeError(peer: peerDescription) {
                fail(error)
            }
            return
        }
        if !readiness.isDisjoint(with: [.read, .failure]) || channel?.readWantsWrite == true { receive() }
    }

    private func negotiateTLS() {
        switch channel?.handshake() {
        case .done:
            beginUpgrade()
        case .failed(let error):
            guard error.code == .tlsMismatch, case .server = role else { return fail(error) }
            channel?.dropTLS()
            var response = HTTPResponse(
                status: 426, text: "this port speaks TLS: connect with wss:// instead of ws://, or https://")
            response.headers.append("Upgrade", "TLS/1.2, HTTP/1.1")
            perform(machine.refuse(response, error))
            write(isUnblocked: true)
        case .wantsRead, .wantsWrite, nil:
            break
        }
    }

    private func beginUpgrade() {
        machine.beginUpgrade(role.handshake(options.subprotocols))
        if case .client(let opening) = role {
            enqueue(SharedBuffer(opening.request))
            write()
        }
        // OpenSSL may have read application data together with the end of the handshake.
        receive()
    }

    /// Decodes the bytes that wait, then reads more, a limited number of times so that other connections get their
    /// turn.
    func receive() {
        decode()
        var turns = 16
        reading: while turns > 0, let room = machine.room(loop.scratch), let result = channel?.read(into: room) {
            turns -= 1
            switch result {
            case .bytes(let count):
                keepAlive?.didReceive()
                machine.didRead(count)
                decode()
                if count < room.count, channel?.shortReadMeansEmpty == true { break reading }
            case .wouldBlock:
                break reading
            case .end:
                return perform(machine.endOfInput())
            case .failed(let error):
                return fail(error)
            }
        }
        // Epoll does not report bytes that OpenSSL has read already.
        if machine.wantsBytes, channel?.hasHiddenInput == true { loop.scheduleFlush(self) }
        write()
    }

    /// Decodes the bytes that wait and carries out the actions that result. Nothing is written meanwhile, because
    /// writing through TLS uses the scratch memory that the bytes may lie in.
    private func decode() {
        while let action = machine.next(isPaused: orders.isPaused) { perform(action) }
        machine.endLoan()
    }
}
