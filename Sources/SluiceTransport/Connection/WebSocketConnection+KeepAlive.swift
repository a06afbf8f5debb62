extension WebSocketConnection {
    func startKeepAlive() {
        keepAlive = KeepAlive(
            interval: options.pingInterval, timeout: options.pongTimeout, now: MonotonicClock.now,
            jitter: Double.random(in: 0..<1))
        scheduleKeepAlive()
    }

    func stopKeepAlive() {
        if let keepAliveTimer { loop.cancel(keepAliveTimer) }
        keepAliveTimer = nil
        keepAlive = nil
    }

    private func scheduleKeepAlive() {
        guard let deadline = keepAlive?.deadline else { return }
        keepAliveTimer = loop.schedule(at: deadline) { [weak self] in self?.tickKeepAlive() }
    }

    private func tickKeepAlive() {
        keepAliveTimer = nil
        let now = MonotonicClock.now
        // What a paused connection does not read says nothing about its peer.
        if isPaused { keepAlive?.didReceive(now: now) }
        switch keepAlive?.tick(now: now) {
        case .ping:
            enqueueControl(
                FrameEncoder.frame(.ping, payload: UnsafeRawBufferPointer(start: nil, count: 0), maskKey: nextMask))
            if !isWriteBlocked { write() }
        case .giveUp:
            return terminate(
                TransportError(
                    .peerSilent, "\(peerDescription) sent and took nothing for \(options.pongTimeout) after a ping",
                    isTransient: true))
        case .wait, nil:
            break
        }
        if keepAliveTimer == nil { scheduleKeepAlive() }
    }
}
