/// Decides what a WebSocket connection does when bytes arrive, when its owner gives an order and when the input ends.
/// It makes no system calls: its driver (``WebSocketConnection``) reads, writes and carries out the actions.
///
/// Life: `connecting → securing → upgrading → open ⇄ paused → closing → finishing → ended`. A connection that does not
/// open, or whose peer breaks a rule, goes through `draining → lingering` instead of the closing handshake.
///
/// A request that is none for an upgrade goes `upgrading → receiving → answering → draining → lingering → ended`: one
/// request, one answer that says `Connection: close`. What a client sends after its request is dropped.
///
/// Bytes are decoded in the order in which they were received, whenever the owner pauses: ``didRead(_:)`` appends them to
/// ``input``, ``next(isPaused:)`` decodes from its front, and ``room(_:)`` gives no room to read into while any are left.
struct ConnectionMachine: ~Copyable {
    enum State {
        /// The socket is not connected: a client looks its server up and connects to it, or a server has not begun to
        /// serve the connection.
        case connecting
        /// TLS is being negotiated; OpenSSL reads the socket.
        case securing
        /// The HTTP request (on a server) or response (on a client) is not complete.
        case upgrading(Handshake)
        /// The body of a request that is none for an upgrade is not whole.
        case receiving(HTTPRequest, HTTPBodyReader)
        /// A request is being answered, for as long as its answer takes. Nothing is read.
        case answering
        /// Messages are delivered as they arrive.
        case open
        /// Open, but the owner has paused receiving: nothing is read and nothing is decoded.
        case paused
        /// This side has sent a close frame and waits for the peer's; messages that still arrive are dropped. The error
        /// is the one to tell the owner at the end.
        case closing(TransportError?)
        /// Both sides have sent a close frame. A server ends the connection once its own frame is written; a client
        /// waits until the server does. Input is dropped.
        case finishing(TransportError?)
        /// The queue is still being written; after that, this side ends writing. Input is dropped.
        case draining(TransportError?)
        /// This side has ended writing. Input is dropped until the peer ends too, so that the peer reads what was sent
        /// last rather than a reset.
        case lingering(TransportError?)
        /// The connection is over.
        case ended
    }

    enum Handshake {
        case server(ServerHandshake)
        case client(ClientHandshake)
    }

    /// What to do next. Memory in an action is valid until the next call.
    enum Action {
        /// Ask the owner of the server; answer with ``accept()`` or ``refuse(_:)``.
        case decide(HTTPRequest, subprotocol: String?)
        /// Ask the owner of the server about a request that is none for an upgrade; answer with ``respond(_:to:)`` or
        /// ``take(_:bodyByteCountMax:)``.
        case route(HTTPRequest)
        /// Tell the peer that the body of its request is awaited.
        case sendContinue
        /// Have a request answered that is whole.
        case answer(HTTPRequest, body: [UInt8])
        /// Send this response; the machine is draining already.
        case send(HTTPResponse, includesBody: Bool = true)
        /// Tell the owner that the connection is open.
        case opened
        /// Hand the message to the owner.
        case deliver(UnsafeRawBufferPointer)
        /// Answer a ping with its payload.
        case pong(UnsafeRawBufferPointer)
        /// Send a close frame.
        case sendClose(CloseCode, reason: String)
        /// Send no more, and tell the peer so.
        case endWriting
        /// Send no more, tell the peer so, and end the connection.
        case finish(TransportError?)
        /// End the connection now.
        case end(TransportError?)
    }

    /// A part of the connection's life that may take only a limited time.
    enum Limit {
        case opening
        case answering
        case closing
        case lingering
    }

    private let side: FrameDecoder.Side
    private let peer: String
    private(set) var state: State
    private var input: ReceivedBytes

    /// - Parameter peer: for error messages.
    init(side: FrameDecoder.Side, state: State, messageByteCountMax: Int, peer: String) {
        self.side = side
        self.state = state
        self.peer = peer
        input = ReceivedBytes(side: side, messageByteCountMax: messageByteCountMax)
    }
}

// MARK: - Bytes

extension ConnectionMachine {
    /// The memory to read the next bytes into; nil when nothing may be read.
    ///
    /// - Parameter scratch: used unless the bytes can go directly to where a large message is assembled.
    mutating func room(_ scratch: UnsafeMutableRawBufferPointer) -> UnsafeMutableRawBufferPointer? {
        guard wantsBytes else { return nil }
        let areMessages = if case .open = state { true } else { false }
        return input.room(scratch, areMessages: areMessages)
    }

    /// Whether bytes may be read now.
    var wantsBytes: Bool {
        switch state {
        case .upgrading, .receiving, .open, .closing, .finishing, .draining, .lingering: input.isEmpty
        case .connecting, .securing, .answering, .paused, .ended: false
        }
    }

    /// Accepts bytes that were read into ``room(_:)``. They are lent until ``endLoan()``.
    mutating func didRead(_ count: Int) { input.didRead(count) }

    /// Decodes until there is an action to carry out; nil when the input is used up or receiving is paused.
    ///
    /// - Parameter isPaused: whether the owner has paused receiving.
    mutating func next(isPaused: Bool) -> Action? {
        while true {
            switch state {
            case .connecting, .securing, .answering, .ended:
                return nil
            case .upgrading(let handshake):
                guard !input.isEmpty else { return nil }
                if let action = upgrade(handshake) { return action }
            case .receiving(let request, let reader):
                if reader.isWhole {
                    state = .answering
                    return .answer(request, body: reader.bytes)
                }
                guard !input.isEmpty else { return nil }
                if let action = receive(request, reader) { return action }
            case .open, .paused:
                state = isPaused ? .paused : .open
                guard !isPaused else { return nil }
                guard let event = input.decode() else { return nil }
                if let action = action(for: event) { return action }
            case .closing(let error):
                guard let event = input.decode() else { return nil }
                if case .failure = event { state = .draining(error) }
                if case .success(.close) = event { state = .finishing(error) }
            case .finishing, .draining, .lingering:
                input.removeAll()
                return nil
            }
        }
    }

    /// Copies what is left of the bytes lent by ``didRead(_:)``.
    mutating func endLoan() { input.endLoan() }

    private mutating func action(for event: Result<FrameDecoder.Event, TransportError>) -> Action? {
        switch event {
        case .success(.message(let bytes)):
            return .deliver(bytes)
        case .success(.ping(let payload)):
            return .pong(payload)
        case .success(.pong):
            return nil
        case .success(.close(let code, let reason)):
            let code = code ?? .normal
            state = .finishing(code == .normal ? nil : .closed(by: peer, code, reason: reason))
            return .sendClose(code, reason: "")
        case .failure(let error):
            state = .draining(error)
            return .sendClose(error.closeCode ?? .protocolError, reason: error.message)
        }
    }
}

// MARK: - Opening

extension ConnectionMachine {
    /// The socket is connected, and TLS is negotiated next.
    mutating func beginTLS() { state = .securing }

    /// The HTTP request or response is exchanged next.
    mutating func beginUpgrade(_ handshake: Handshake) { state = .upgrading(handshake) }

    private mutating func upgrade(_ handshake: Handshake) -> Action? {
        switch handshake {
        case .server(var server):
            let (count, step) = server.receive(input.unread)
            input.consume(count)
            switch step {
            case .wait:
                state = .upgrading(.server(server))
                return nil
            case .request(let request):
                return .route(request)
            case .upgrade(let request, let subprotocol):
                return .decide(request, subprotocol: subprotocol)
            case .refuse(let response):
                return refuse(
                    response, TransportError(.protocolViolation, "refused a request with status \(response.status)"))
            }
        case .client(var client):
            do throws(TransportError) {
                let (count, isComplete) = try client.receive(input.unread)
                input.consume(count)
                state = isComplete ? .open : .upgrading(.client(client))
                return isComplete ? .opened : nil
            } catch {
                return end(error)
            }
        }
    }

    /// Takes text messages in place of binary ones.
    mutating func takeText() { input.takeText() }

    /// The owner of the server accepts the connection.
    mutating func accept() -> Action {
        state = .open
        return .opened
    }

    /// Answers an upgrade with a refusal.
    ///
    /// - Parameter error: the reason to tell the owner of the server; nil when the owner itself refused.
    mutating func refuse(_ response: HTTPResponse, _ error: TransportError?) -> Action {
        state = .draining(error)
        return .send(response)
    }
}

// MARK: - Requests

extension ConnectionMachine {
    /// The owner of the server has a response to a request already, and reads no body.
    mutating func respond(_ response: HTTPResponse, to request: HTTPRequest) -> Action {
        state = .draining(nil)
        return .send(response, includesBody: request.method != "HEAD")
    }

    /// The owner of the server answers a request once its body is whole.
    mutating func take(_ request: HTTPRequest, bodyByteCountMax: Int) -> Action? {
        do throws(HTTPBodyReader.Failure) {
            let framing = try HTTPBodyReader.Framing(request.headers) ?? .length(0)
            // HTTP/1.0 has no chunks, so that a proxy may have seen another end of the body.
            if framing == .chunked, request.version == .http10 {
                throw .malformed("it has Transfer-Encoding with HTTP/1.0")
            }
            let reader = try HTTPBodyReader(framing, byteCountMax: bodyByteCountMax)
            let expectations = request.headers.elements("Expect")
            state = .receiving(request, reader)
            if expectations.isEmpty || request.version == .http10 { return nil }
            guard expectations.count == 1, ASCII.equalsIgnoringCase(expectations[0], "100-continue") else {
                return refuse(
                    HTTPResponse(status: 417, text: "the only expectation that is met is 100-continue"), nil)
            }
            return reader.isWhole || !input.isEmpty ? nil : .sendContinue
        } catch {
            return refuse(error, bodyByteCountMax)
        }
    }

    private mutating func receive(_ request: HTTPRequest, _ reader: consuming HTTPBodyReader) -> Action? {
        // Nothing else holds the reader's bytes now, so that more are appended in place.
        state = .answering
        do throws(HTTPBodyReader.Failure) {
            input.consume(try reader.receive(input.unread))
            state = .receiving(request, reader)
            return nil
        } catch {
            return refuse(error, reader.byteCountMax)
        }
    }

    private mutating func refuse(_ failure: HTTPBodyReader.Failure, _ byteCountMax: Int) -> Action {
        switch failure {
        case .tooLong:
            let what = byteCountMax == 0 ? "takes no body" : "takes a body of at most \(byteCountMax) bytes"
            return refuse(HTTPResponse(status: 413, text: "this path \(what)"), nil)
        case .malformed(let reason):
            return refuse(HTTPResponse(status: 400, text: "the body of the request is none: \(reason)"), nil)
        }
    }

    /// The answer to a request is whole.
    mutating func endAnswer() -> Action? {
        if case .answering = state { state = .draining(nil) }
        return nil
    }
}

// MARK: - Closing

extension ConnectionMachine {
    /// The owner closes the connection.
    mutating func close(_ code: CloseCode, reason: String) -> Action? {
        switch state {
        case .connecting, .securing, .upgrading, .receiving: return end(nil)
        case .open, .paused:
            state = .closing(nil)
            return .sendClose(code, reason: reason)
        case .answering, .closing, .finishing, .draining, .lingering, .ended: return nil
        }
    }

    /// The send queue has been written completely.
    mutating func didFlush() -> Action? {
        switch state {
        case .finishing(let error) where side == .server:
            _ = end(error)
            return .finish(error)
        case .draining(let error):
            state = .lingering(error)
            return .endWriting
        case .connecting, .securing, .upgrading, .receiving, .answering, .open, .paused, .closing, .finishing,
            .lingering, .ended:
            return nil
        }
    }

    /// The peer sends no more.
    mutating func endOfInput() -> Action? {
        switch state {
        case .upgrading(.client(let client)): return end(client.endOfInput())
        case .upgrading(.server), .receiving: return end(lost("before a whole request"))
        case .finishing(let error), .draining(let error), .lingering(let error): return end(error)
        case .connecting, .securing, .answering, .open, .paused, .closing, .ended:
            return end(closeError ?? lost("without a closing handshake"))
        }
    }

    /// Reading or writing failed.
    mutating func fail(_ error: TransportError) -> Action? { end(closeError ?? error) }

    /// The time limit of the current state (``limit``) has passed.
    ///
    /// - Parameters:
    ///   - time: the length of the limit, for the message.
    ///   - hasBegunAnswer: whether a part of the answer to a request was queued.
    mutating func timeOut(after time: Duration, hasBegunAnswer: Bool = false) -> Action? {
        switch state {
        case .draining(let error), .lingering(let error): return end(error)
        case .connecting: return end(late("finding and reaching the host was not done within \(time)"))
        case .securing: return end(late("the TLS handshake was not done within \(time)"))
        case .upgrading: return end(late("the WebSocket handshake was not done within \(time)"))
        case .receiving:
            return refuse(
                HTTPResponse(status: 408, text: "the request was not whole within \(time)"),
                late("a request was not whole within \(time)"))
        case .answering where !hasBegunAnswer:
            return refuse(HTTPResponse(status: 503, text: "there was no answer within \(time)"), nil)
        case .answering: return end(late("nothing of an answer was taken for \(time)"))
        case .open, .paused, .closing, .finishing, .ended:
            return end(closeError ?? late("the closing handshake was not answered within \(time)"))
        }
    }

    /// Ends the connection, once.
    mutating func end(_ error: TransportError?) -> Action? {
        guard !isEnded else { return nil }
        state = .ended
        input.removeAll()
        return .end(error)
    }

    private var closeError: TransportError? {
        switch state {
        case .closing(let error), .finishing(let error), .draining(let error), .lingering(let error): error
        case .connecting, .securing, .upgrading, .receiving, .answering, .open, .paused, .ended: nil
        }
    }

    private func lost(_ when: String) -> TransportError {
        TransportError(.connectionLost, "\(peer) closed the connection \(when)", outlook: .passing)
    }

    private func late(_ what: String) -> TransportError {
        TransportError(.timedOut, "\(peer): \(what)", outlook: .passing)
    }
}
