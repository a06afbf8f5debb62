import Glibc
import Synchronization

extension WebSocketConnection {
    /// Carries out what the owner asked for since the last turn.
    func carryOutOrders() {
        let isOpen = phase == .open
        let (messages, close, isAbortWanted, isPauseWanted) = outbound.withLock { outbound in
            outbound.isFlushScheduled = false
            var messages: [SharedBuffer] = []
            if isOpen {
                messages = outbound.messages
                outbound.messages = []
            }
            return (messages, outbound.close, outbound.isAbortWanted, outbound.isPauseWanted)
        }
        guard phase != .closed else { return }
        if isAbortWanted { return terminate(TransportError(.aborted, "the connection was aborted by its owner")) }
        for message in messages { enqueue(message) }
        if let close {
            switch phase {
            case .open: beginClosing(close.code, reason: close.reason, error: nil)
            case .connecting, .tlsHandshake, .upgrade: return terminate(nil)
            case .closing, .draining, .closed: break
            }
        }
        if isPauseWanted != isPaused { setPaused(isPauseWanted) }
        write()
    }

    private func enqueue(_ message: SharedBuffer) {
        if isServer {
            sendQueue.appendFrame(message)
        } else {
            sendQueue.append(FrameEncoder.frame(.binary, payload: message.bytes, maskKey: nextMask))
        }
    }

    /// Queues bytes that are not an owner's message: the handshake or a control frame.
    func enqueueControl(_ bytes: SharedBuffer) {
        sendQueue.append(bytes)
        queued.add(bytes.count, ordering: .relaxed)
    }

    /// Writes until the queue is empty or the kernel takes no more.
    func write() {
        guard descriptor >= 0, phase != .tlsHandshake, phase != .connecting else { return }
        if !isWriteBlocked || sendQueue.isEmpty, let pong = pendingPong, phase == .open {
            pendingPong = nil
            enqueueControl(pong.withUnsafeBytes { FrameEncoder.frame(.pong, payload: $0, maskKey: nextMask) })
        }
        isWriteBlocked = false
        var written = 0
        while !sendQueue.isEmpty {
            let result = tls?.write(sendQueue, scratch: loop.scratch) ?? Socket.write(descriptor, sendQueue)
            switch result {
            case .bytes(let count):
                sendQueue.consume(count)
                written += count
                continue
            case .wouldBlock:
                isWriteBlocked = true
            case .failed(let error):
                return terminate(phase == .open ? error : closeError ?? error)
            }
            break
        }
        if written > 0 { didWrite(written) }
        updateInterest()
        if sendQueue.isEmpty { didFlush() }
    }

    private func didWrite(_ count: Int) {
        writtenByteCount += count
        keepAlive?.didWrite(now: MonotonicClock.now, isQueueEmpty: sendQueue.isEmpty)
        let hasDrained = outbound.withLock { outbound in
            let total = queued.subtract(count, ordering: .relaxed).newValue
            guard outbound.isAboveLowWater, total <= options.lowWaterByteCount else { return false }
            outbound.isAboveLowWater = false
            return true
        }
        if hasDrained, phase == .open { delegate?.connectionDidDrain(self) }
    }

    /// The queue is empty: goes on with closing.
    private func didFlush() {
        switch phase {
        case .closing where isCloseReceived && isServer:
            tls?.endWriting()
            terminate(closeError)
        case .draining:
            tls?.endWriting()
            shutdown(descriptor, Int32(SHUT_WR))
        default:
            break
        }
    }

    /// Watches the socket for what matters now.
    func updateInterest() {
        guard descriptor >= 0, phase != .closed else { return }
        var wanted: Readiness = isPaused && phase == .open ? [] : .read
        if isWriteBlocked || tls?.readWantsWrite == true { wanted.insert(.write) }
        if tls?.writeWantsRead == true { wanted.insert(.read) }
        guard wanted != interest else { return }
        interest = wanted
        loop.change(descriptor, wanted)
    }
}
