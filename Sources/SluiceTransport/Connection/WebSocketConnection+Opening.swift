import Glibc

extension WebSocketConnection {
    /// Begins with a connected socket, which belongs to the connection from now on.
    func start(_ socket: Int32) {
        guard phase != .closed else {
            Glibc.close(socket)
            return
        }
        descriptor = socket
        Socket.setNoDelay(socket)
        do throws(TransportError) {
            interest = .read
            try loop.register(socket, interest, self)
            let context: TLSContext?
            let host: String?
            switch role {
            case .server(let core):
                (context, host) = (core.tls, nil)
                handshake = .server(ServerHandshake(subprotocols: options.subprotocols))
            case .client(let core):
                (context, host) = (core.tls, core.endpoint.host)
                handshake = .client(core.handshake)
            }
            guard let context else { return beginUpgrade() }
            tls = try TLSSession(context, descriptor: socket, host: host, peer: peerDescription)
            phase = .tlsHandshake
            continueTLSHandshake()
        } catch {
            terminate(error)
        }
    }

    /// Ends the connection unless it is open in time.
    func limitOpening() {
        setDeadline(after: options.openTimeout) { connection in
            let step =
                switch connection.phase {
                case .connecting: "finding and reaching the host"
                case .tlsHandshake: "the TLS handshake"
                default: "the WebSocket handshake"
                }
            connection.terminate(
                TransportError(
                    .timedOut,
                    "\(connection.peerDescription): \(step) was not done within \(connection.options.openTimeout)",
                    isTransient: true))
        }
    }

    func continueTLSHandshake() {
        guard let tls else { return }
        switch tls.handshake() {
        case .done:
            interest = .read
            loop.change(descriptor, interest)
            beginUpgrade()
        case .wantsRead:
            setHandshakeInterest(.read)
        case .wantsWrite:
            setHandshakeInterest(.write)
        case .failed(let error):
            guard isServer, error.code == .tlsMismatch else { return terminate(error) }
            self.tls = nil
            var response = HTTPResponse(
                status: 426, text: "this port speaks TLS: connect with wss:// instead of ws://, or https://")
            response.headers.append("Upgrade", "TLS/1.2, HTTP/1.1")
            refuse(response, error)
        }
    }

    private func setHandshakeInterest(_ wanted: Readiness) {
        guard wanted != interest else { return }
        interest = wanted
        loop.change(descriptor, wanted)
    }

    private func beginUpgrade() {
        phase = .upgrade
        if case .client(let core) = role {
            enqueueControl(SharedBuffer(core.request))
            write()
        }
        // TLS may have read application data together with the end of its handshake.
        if phase == .upgrade, tls != nil { receive() }
    }

    /// Takes bytes of the HTTP request or answer from the front of the input.
    func continueUpgrade(_ input: inout UnsafeMutableRawBufferPointer) {
        let consumed: Int
        switch handshake {
        case .server(var server):
            let (count, step) = server.receive(UnsafeRawBufferPointer(input))
            handshake = .server(server)
            consumed = count
            take(step)
        case .client(var client):
            do throws(TransportError) {
                let (count, isComplete) = try client.receive(UnsafeRawBufferPointer(input))
                handshake = .client(client)
                consumed = count
                if isComplete { didOpen() }
            } catch {
                return terminate(error)
            }
        case nil:
            return
        }
        input = UnsafeMutableRawBufferPointer(rebasing: input[consumed...])
    }

    private func take(_ step: ServerHandshake.Step) {
        guard case .server(let core) = role else { return }
        switch step {
        case .wait:
            break
        case .page(let request):
            let response = core.hooks.page(request) ?? HTTPResponse(status: 404, text: "there is nothing at this path")
            answer(response, includesBody: request.method != "HEAD")
        case .upgrade(let request, let subprotocol):
            switch core.decide(request, for: self) {
            case .accept(let delegate):
                self.delegate = delegate
                enqueueControl(SharedBuffer(ServerHandshake.response(to: request, subprotocol: subprotocol)))
                didOpen()
            case .reject(let status, let text):
                answer(HTTPResponse(status: status, text: text), includesBody: true)
            }
        case .refuse(let response):
            refuse(response, TransportError(.protocolViolation, "refused a request with status \(response.status)"))
        }
    }

    private func didOpen() {
        phase = .open
        handshake = nil
        clearDeadline()
        startKeepAlive()
        delegate?.connectionDidOpen(self)
        // Messages sent while opening wait among the orders.
        loop.scheduleFlush(self)
    }

    /// Answers without opening, and closes.
    private func answer(_ response: HTTPResponse, includesBody: Bool) {
        enqueueControl(SharedBuffer(response.encoded(includesBody: includesBody)))
        handshake = nil
        beginDraining()
        write()
    }

    private func refuse(_ response: HTTPResponse, _ error: TransportError) {
        closeError = error
        answer(response, includesBody: true)
    }
}
