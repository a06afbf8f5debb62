internal import SluiceModel
internal import SluiceStorage

/// Starting over, because the server's history is another one.
extension ClientEngine {
    /// Called before a reset changes anything.
    package var onResetBegin: ((ClientReset) -> Void)? {
        get { resets.onBegin }
        set { resets.onBegin = newValue }
    }

    /// Called when the store has caught up after a reset.
    package var onResetEnd: ((ClientReset) -> Void)? {
        get { resets.onEnd }
        set { resets.onEnd = newValue }
    }

    /// Starts over in a mode that the application has chosen, whatever the configuration says, as soon as the server is
    /// reached. Without a reset that waits for it, nothing happens.
    package func resetSync(_ mode: ClientResetPolicy.Mode) {
        guard let error = session.failure, error.code == .resetRequired else { return }
        resets.override = mode
        handle(.start)
    }

    /// Discards everything that came from the server, because its history is not the one that this store knows, and
    /// does with unsent writes what the application wants. If it has to decide first, syncing ends.
    ///
    /// - Parameters:
    ///   - epoch: the server's epoch.
    ///   - acknowledged: the last upload that the server has accepted, as far as it knows.
    ///   - rejectsUncertain: whether writes that may have been sent cannot be sent again, since the server does not know
    ///     whether it has them.
    /// - Returns: whether the store starts over.
    func reset(
        because reason: String, inEpoch epoch: UInt64, acknowledged: UInt64, rejectsUncertain: Bool
    ) throws -> Bool {
        let (decision, record) = try resets.begin(because: reason, inEpoch: epoch)
        if case .wait(let error) = decision {
            session.disconnect()
            fail(error)
            return false
        }
        log?(
            .warning, "what this store had from the server is void; its objects are fetched anew",
            [("reason", reason), ("unsent writes", decision == .recover ? "kept" : "dropped")])
        if rejectsUncertain { try outbox.rejectUncertainUploads() }
        try transactions.run(.catchUp(acceptedAt: now()), durably: true) { transaction in
            if decision == .discard { try outbox.discard(acknowledged: acknowledged) }
            try forgetServer(transaction)
            if let record { try resets.note(record) }
        }
        outbox.finishRetiring()
        return true
    }

    /// Discards everything that came from the server, because the application wants it fetched anew. Unsent writes stay.
    ///
    /// - Precondition: there is no connection.
    func fetchAnew() throws {
        log?(.info, "what this store has from the server is fetched anew, as the application asks")
        try transactions.run(.local) { transaction in
            try forgetServer(transaction)
            guard var state = storage.syncState else { return }
            // The identity stays, so that the server knows which writes it has.
            state.version = 0
            try storage.setSyncState(state)
        }
        outbox.finishRetiring()
    }

    private func forgetServer(_ transaction: StoreTransaction) throws {
        try subscriptions.forgetServer(transaction)
        try images.forgetServer(transaction)
    }

    /// Notes that the store has caught up after a reset, if it has.
    func endResetIfCaughtUp() throws {
        guard session.isActive else { return }
        try resets.endIfCaughtUp(
            retired: outbox.retiredSequence,
            isComplete: active.synced.allSatisfy { $0.phase == .complete || $0.error != nil },
            transactions)
    }
}
