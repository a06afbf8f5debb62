import Glibc
import Synchronization

extension WebSocketConnection {
    /// The socket is ready for something.
    func serve(_ readiness: Readiness) {
        switch phase {
        case .connecting, .closed:
            return
        case .tlsHandshake:
            return continueTLSHandshake()
        case .upgrade, .open, .closing, .draining:
            break
        }
        if readiness.contains(.write) { write() }
        guard phase != .closed, !readiness.isDisjoint(with: [.read, .failure]) || tls?.readWantsWrite == true else {
            return
        }
        if isPaused, phase == .open, !readiness.isDisjoint(with: .failure) {
            return terminate(
                .system(Socket.takeError(descriptor).ifZero(ECONNRESET), "receive from \(peerDescription)"))
        }
        receive()
    }

    /// Reads what is there, up to a share that leaves other connections their turn.
    func receive() {
        let hadTLSBlockedWrite = tls?.writeWantsRead == true
        var turns = 16
        while turns > 0, canReceive {
            turns -= 1
            let isDirect = phase == .open && decoder.wantsDirectRead
            let room = isDirect ? decoder.directRoom() : loop.scratch
            switch tls?.read(into: room) ?? Socket.read(descriptor, into: room) {
            case .bytes(let count):
                keepAlive?.didReceive(now: MonotonicClock.now)
                if isDirect {
                    decoder.didReadDirectly(count)
                    process(UnsafeMutableRawBufferPointer(start: nil, count: 0))
                } else {
                    process(UnsafeMutableRawBufferPointer(rebasing: room[..<count]))
                }
                if tls == nil, count < room.count { turns = 0 }
            case .wouldBlock:
                turns = 0
            case .end:
                return endOfInput()
            case .failed(let error):
                return terminate(phase == .open || phase == .upgrade ? error : closeError ?? error)
            }
        }
        guard phase != .closed else { return }
        if pendingPong != nil || hadTLSBlockedWrite || (!sendQueue.isEmpty && !isWriteBlocked) {
            write()
        } else {
            updateInterest()
        }
    }

    private var canReceive: Bool {
        switch phase {
        case .upgrade, .closing, .draining: true
        case .open: !isPaused
        case .connecting, .tlsHandshake, .closed: false
        }
    }

    private func process(_ bytes: UnsafeMutableRawBufferPointer) {
        var input = bytes
        if phase == .upgrade { continueUpgrade(&input) }
        if phase == .open || phase == .closing { decode(&input) }
    }

    private func decode(_ input: inout UnsafeMutableRawBufferPointer) {
        do throws(TransportError) {
            while phase == .open || phase == .closing, !isCloseReceived, let event = try decoder.next(&input) {
                handle(event)
                if isPaused || isPauseWanted, phase == .open, !input.isEmpty {
                    leftover.append(contentsOf: input)
                    return
                }
            }
        } catch {
            fail(error)
        }
    }

    private var isPauseWanted: Bool { outbound.withLock { $0.isPauseWanted } }

    private func handle(_ event: FrameDecoder.Event) {
        switch event {
        case .message(let bytes):
            guard phase == .open, !isEndedByOwner.load(ordering: .relaxed) else { return }
            delegate?.connection(self, didReceive: bytes)
        case .ping(let payload):
            // Only the latest ping needs an answer (RFC 6455, section 5.5.3).
            pendingPong = Array(payload)
        case .pong:
            break
        case .close(let code, let reason):
            didReceiveClose(code, reason: reason)
        }
    }

    /// Stops or starts receiving, as the owner wants.
    func setPaused(_ paused: Bool) {
        isPaused = paused
        keepAlive?.didReceive(now: MonotonicClock.now)
        guard !paused, !leftover.isEmpty else { return updateInterest() }
        var bytes = leftover
        leftover = []
        bytes.withUnsafeMutableBytes { bytes in
            var input = bytes
            decode(&input)
        }
        updateInterest()
    }
}

extension Int32 {
    fileprivate func ifZero(_ other: Int32) -> Int32 { self == 0 ? other : self }
}
