extension WebSocketConnection {
    /// Carries out the owner's orders since the last turn.
    func carryOutOrders() {
        var batch = orders.takeBatch(
            takesMessages: machine.isOpen || machine.isAnswering, leaving: Swift.exchange(&emptiedMessages, with: []))
        guard !machine.isEnded else { return }
        if let failure = failure.take() { return fail(failure) }
        if owesDrainNotice {
            owesDrainNotice = false
            notifyDrain()
        }
        if batch.isAbortOrdered {
            return perform(machine.end(TransportError(.aborted, "the connection was aborted by its owner")))
        }
        if machine.isAnswering { return answer(batch) }
        queue(&batch)
        let closing = batch.close.flatMap { machine.close($0.code, reason: $0.reason) }
        perform(closing)
        let isPauseNew = machine.isOpen && machine.isPaused != orders.isPaused
        if isPauseNew { keepAlive?.didReceive() }
        if isPauseNew || closing != nil || channel?.hasHiddenInput == true { receive() } else { write() }
    }

    /// Queues the messages of a batch, and keeps their memory for those that follow.
    private func queue(_ batch: inout OwnerOrders.Batch) {
        for message in batch.messages { sendQueue.append(message, as: role) }
        guard batch.messages.capacity <= Self.emptiedMessageCapacity else { return }
        batch.messages.removeAll(keepingCapacity: true)
        emptiedMessages = batch.messages
    }

    /// Sends the owner's messages, on any thread that owns the loop. What else there is to do, the owner's calls and the
    /// end of the connection among it, is left to ``carryOutOrders()``.
    ///
    /// - Returns: whether nothing is left to be done.
    func sendMessages() -> Bool {
        guard machine.isOpen, machine.isPaused == orders.isPaused, failure == nil, owedPong == nil, sendQueue.isEmpty,
            channel?.canBeWrittenAnywhere == true, channel?.isWriteBlocked == false
        else { return false }
        var batch = orders.takeBatch(takesMessages: true, leaving: Swift.exchange(&emptiedMessages, with: []))
        queue(&batch)
        guard !batch.isAbortOrdered, batch.close == nil else { return false }
        do throws(TransportError) {
            if let written = try channel?.write(&sendQueue), written > 0 { owesDrainNotice = noteWritten(written) }
        } catch { failure = error }
        channel?.watch(reads: machine.wantsBytes)
        return failure == nil && !owesDrainNotice
    }

    /// Sends what has come of the answer to a request.
    private func answer(_ batch: OwnerOrders.Batch) {
        for piece in batch.messages { sendQueue.append(piece) }
        hasBegunAnswer = hasBegunAnswer || !batch.messages.isEmpty
        if batch.endsAnswer {
            perform(machine.endAnswer())
        } else if batch.close != nil, !hasBegunAnswer {
            perform(machine.refuse(HTTPResponse(status: 503, text: "this server is shutting down"), nil))
        }
        write()
    }

    /// Queues bytes that are not an owner's message: the handshake or a control frame.
    func enqueue(_ bytes: SharedBuffer) {
        sendQueue.append(bytes)
        orders.didQueue(bytes.count)
    }

    /// Queues the answer to the latest ping.
    func enqueueOwedPong() {
        guard let payload = owedPong else { return }
        owedPong = nil
        enqueue(payload.withUnsafeBytes { FrameEncoder.frame(.pong, payload: $0, maskKey: role.nextMask) })
    }

    /// Writes until the queue is empty or the kernel accepts no more bytes.
    ///
    /// - Parameter isUnblocked: whether epoll has reported the socket as writable.
    func write(isUnblocked: Bool = false) {
        // While TLS is negotiated, OpenSSL decides what the socket is watched for.
        if case .securing = machine.state { return }
        guard let isBlocked = channel?.isWriteBlocked else { return }
        if machine.mayWrite, isUnblocked || !isBlocked {
            if machine.isOpen { enqueueOwedPong() }
            do throws(TransportError) {
                if let written = try channel?.write(&sendQueue), written > 0, noteWritten(written) { notifyDrain() }
            } catch {
                return fail(error)
            }
            if sendQueue.isEmpty { perform(machine.didFlush()) }
        }
        channel?.watch(reads: machine.wantsBytes)
    }

    /// Notes bytes that the kernel has accepted.
    ///
    /// - Returns: whether the queue has fallen to the low-water mark, which the owner is to be told.
    private func noteWritten(_ byteCount: Int) -> Bool {
        writtenByteCount += byteCount
        keepAlive?.didWrite(isQueueEmpty: sendQueue.isEmpty)
        return orders.didWrite(byteCount)
    }

    private func notifyDrain() {
        exchange?.didDrain()
        if machine.isOpen { delegate?.connectionDidDrain(self) }
    }
}

extension SendQueue {
    /// Appends an owner's message as one frame.
    mutating func append(_ message: SharedBuffer, as role: ConnectionRole) {
        switch role {
        case .server: appendFrame(message)
        case .client: append(FrameEncoder.frame(message.opcode, payload: message.bytes, maskKey: role.nextMask))
        }
    }
}

extension ConnectionRole {
    /// A fresh mask for a client's frame; a server does not mask.
    var nextMask: UInt32? {
        switch self {
        case .server: nil
        case .client: UInt32.random(in: .min ... .max)
        }
    }
}
