import Synchronization

extension LoopbackNetwork {
    /// Delivers the first item in the queue of an end to its delegate.
    func deliver(to id: ConnectionID) {
        let taken: (LoopbackState.Item, LoopbackState.End, ServerHooks?)? = state.withLock { state in
            guard let item = state.ends[id]?.takeFirst(), let end = state.ends[id] else { return nil }
            return (item, end, state.listeners[end.host])
        }
        guard let (item, end, hooks) = taken else { return }
        switch item {
        case .request(let request): decide(request, end, hooks)
        case .opened: end.delegate?.connectionDidOpen(end.connection)
        case .message(let message): deliver(message, to: end)
        case .close(let code, let reason): finishClosing(end, code, reason: reason)
        case .ended(let error): finish(end, error)
        }
    }

    private func decide(_ request: HTTPRequest, _ end: LoopbackState.End, _ hooks: ServerHooks?) {
        guard let hooks else {
            return update { state in
                state.ends[end.connection.id] = nil
                state.end(
                    end.peer,
                    TransportError(
                        .connectionRefused, "cannot connect to \(end.host): nobody listens there", outlook: .passing))
            }
        }
        switch hooks.accept(request, end.connection) {
        case .reject(let status, let text):
            update { state in
                state.ends[end.connection.id] = nil
                state.end(
                    end.peer,
                    TransportError(
                        .upgradeRefused,
                        "\(end.host) refused the connection: \(status) \(HTTPResponse.reason(status)): \(text)",
                        outlook: .init(answeredWith: status), httpStatus: status))
            }
        case .accept(let delegate):
            update { state in
                state.ends[end.connection.id]?.delegate = delegate
                state.post(.opened, to: end.peer)
            }
            delegate.connectionDidOpen(end.connection)
        }
    }

    private func deliver(_ message: SharedBuffer, to end: LoopbackState.End) {
        let sender: LoopbackState.End? = state.withLock { state in
            guard let sender = state.ends[end.peer] else { return nil }
            let total = sender.connection.queued.subtract(message.count, ordering: .relaxed).newValue
            guard sender.isAboveLowWater, total <= options.lowWaterByteCount else { return nil }
            state.ends[end.peer]?.isAboveLowWater = false
            return sender
        }
        guard message.count <= options.messageByteCountMax else {
            return refuse(
                end,
                TransportError.violation(
                    .messageTooBig,
                    "a message of \(message.count) bytes is over the limit of \(options.messageByteCountMax)"))
        }
        if !end.isEndedByOwner {
            message.withUnsafeBytes { end.delegate?.connection(end.connection, didReceive: $0) }
        }
        if let sender, !sender.isEndedByOwner { sender.delegate?.connectionDidDrain(sender.connection) }
    }

    /// Closes a connection whose peer broke a rule, as a WebSocket connection does.
    private func refuse(_ end: LoopbackState.End, _ error: TransportError) {
        let code = error.closeCode ?? .protocolError
        update { state in
            state.end(end.peer, .closed(by: end.connection.peerDescription, code, reason: error.message))
            state.end(end.connection.id, error)
        }
    }

    private func finishClosing(_ end: LoopbackState.End, _ code: CloseCode, reason: String) {
        update { state in
            // A close frame from here that the peer has not read yet counts as the other half of the handshake.
            state.end(end.peer, nil)
        }
        finish(
            end,
            code == .normal || end.isEndedByOwner
                ? nil : .closed(by: end.connection.peerDescription, code, reason: reason))
    }

    private func finish(_ end: LoopbackState.End, _ error: TransportError?) {
        state.withLock { state in
            state.ends[end.connection.id] = nil
            end.connection.queued.store(0, ordering: .relaxed)
        }
        end.delegate?.connection(end.connection, didCloseWith: error)
    }
}
