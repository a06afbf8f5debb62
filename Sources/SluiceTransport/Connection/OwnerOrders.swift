import Synchronization

/// Collects what the owner of a connection asks for, on any thread, until the event loop carries it out.
struct OwnerOrders: ~Copyable {
    /// The orders that the loop carries out together.
    struct Batch {
        var messages: [SharedBuffer] = []
        /// Whether the answer to a request is whole.
        var endsAnswer = false
        var close: (code: CloseCode, reason: String)?
        var isAbortOrdered = false
    }

    struct State {
        var batch = Batch()
        var isFlushScheduled = false
        var isAboveLowWater = false
        var isEnded = false
    }

    let state = Mutex(State())
    private let queued = Atomic<Int>(0)
    private let paused = Atomic<UInt8>(0)
    private let endedByOwner = Atomic<Bool>(false)
    private let isAtWork = Atomic<Bool>(false)
    private let lowWaterByteCount: Int

    init(lowWaterByteCount: Int) { self.lowWaterByteCount = lowWaterByteCount }

    /// How many bytes wait to be written.
    var queuedBytes: Int { queued.load(ordering: .relaxed) }

    /// Whether more bytes wait than the low-water mark, so that ``didWrite(_:)`` will say when they have been written.
    var isHeldUp: Bool { state.withLock { $0.isAboveLowWater } }

    /// Whether the owner has paused receiving.
    var isPaused: Bool { paused.load(ordering: .acquiring) != 0 }

    /// Whether the owner has closed or aborted the connection; it then receives no more messages.
    var isEndedByOwner: Bool { endedByOwner.load(ordering: .relaxed) }

    /// Says that an answer is being made, of which nothing can be sent yet.
    func noteWork() { isAtWork.store(true, ordering: .relaxed) }

    /// Whether ``noteWork()`` was called since this was asked last.
    func takeWork() -> Bool { isAtWork.exchange(false, ordering: .relaxed) }
}

// MARK: - From the owner. Each call returns whether the loop must be asked to carry the order out.

extension OwnerOrders {
    /// - Parameter byteCount: the length of the message on the wire.
    func send(_ message: SharedBuffer, byteCount: Int) -> Bool {
        order { state in
            guard state.batch.close == nil, !state.batch.isAbortOrdered else { return false }
            state.batch.messages.append(message)
            let total = queued.add(byteCount, ordering: .relaxed).newValue
            if total > lowWaterByteCount { state.isAboveLowWater = true }
            return true
        }
    }

    /// Sends a piece of an answer to a request. One that was begun goes on after ``close(_:reason:)``.
    func sendAnswer(_ piece: SharedBuffer) -> Bool {
        order { state in
            guard !state.batch.endsAnswer, !state.batch.isAbortOrdered else { return false }
            state.batch.messages.append(piece)
            let total = queued.add(piece.count, ordering: .relaxed).newValue
            if total > lowWaterByteCount { state.isAboveLowWater = true }
            return true
        }
    }

    func endAnswer() -> Bool {
        order { state in
            guard !state.batch.endsAnswer else { return false }
            state.batch.endsAnswer = true
            return true
        }
    }

    func close(_ code: CloseCode, reason: String) -> Bool {
        endedByOwner.store(true, ordering: .relaxed)
        return order { state in
            guard state.batch.close == nil else { return false }
            state.batch.close = (code, reason)
            return true
        }
    }

    func abort() -> Bool {
        endedByOwner.store(true, ordering: .relaxed)
        return order { state in
            state.batch.isAbortOrdered = true
            return true
        }
    }

    func pause(for reason: PauseReason) -> Bool {
        paused.bitwiseOr(reason.rawValue, ordering: .acquiringAndReleasing)
        return order { _ in true }
    }

    func resume(after reason: PauseReason) -> Bool {
        paused.bitwiseAnd(~reason.rawValue, ordering: .acquiringAndReleasing)
        return order { _ in true }
    }

    private func order(_ change: (inout State) -> Bool) -> Bool {
        state.withLock { state in
            guard !state.isEnded, change(&state), !state.isFlushScheduled else { return false }
            state.isFlushScheduled = true
            return true
        }
    }
}

// MARK: - On the loop

extension OwnerOrders {
    /// Takes the messages sent since the last call. An order to close, to abort or to end an answer stays in every later
    /// batch; carrying it out again does nothing.
    ///
    /// - Parameters:
    ///   - takesMessages: false while the connection is opening; messages then stay for a later batch.
    ///   - room: an empty array, whose memory the messages get that follow.
    func takeBatch(takesMessages: Bool, leaving room: [SharedBuffer]) -> Batch {
        state.withLock { state in
            state.isFlushScheduled = false
            var batch = state.batch
            if takesMessages { state.batch.messages = room } else { batch.messages = [] }
            return batch
        }
    }

    /// Counts bytes that the loop itself has queued.
    func didQueue(_ byteCount: Int) { queued.add(byteCount, ordering: .relaxed) }

    /// Counts bytes that have been written.
    ///
    /// - Returns: whether the queue has fallen to the low-water mark.
    func didWrite(_ byteCount: Int) -> Bool {
        state.withLock { state in
            let total = queued.subtract(byteCount, ordering: .relaxed).newValue
            guard state.isAboveLowWater, total <= lowWaterByteCount else { return false }
            state.isAboveLowWater = false
            return true
        }
    }

    /// The connection is over: drops what waits and accepts no more orders.
    func end() {
        state.withLock { state in
            state.isEnded = true
            state.batch = Batch()
            queued.store(0, ordering: .relaxed)
        }
    }
}
