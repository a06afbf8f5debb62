internal import Sluice
internal import SluiceServer
internal import SluiceStorage
internal import Synchronization

/// Waiting until nothing happens any more.
extension TestServer {
    /// Waits until the server, its stores and the network have nothing left to do as long as the clock stands still: all
    /// that was sent has arrived, and every handler that has no queue of its own has returned. So a test can say that
    /// something did *not* come.
    ///
    /// What a test holds (``hold(_:before:)``) or what waits for the clock stays where it is. Tasks and queues of the
    /// test itself, and observers of a `ServerDatabase`, do not count.
    ///
    /// - Parameter timeout: the longest wait without progress, in real time. It is spent in looking whether work is left.
    ///   A look that a busy machine holds up counts as one second, and time in which messages travel counts a quarter, so
    ///   that the machine's other work does not use the wait up, while messages without end do.
    /// - Throws: ``NotSettled`` when work goes on; the error says where, and what each store waits for.
    public func settled(timeout: Duration = .seconds(120)) async throws {
        var spent = Duration.zero
        var quietRounds = 0
        while quietRounds < 2 {
            let start = ContinuousClock.now
            let activity = floor.activity
            let busy = try await busyPlace()
            let isStill = floor.activity == activity
            quietRounds = busy == nil && isStill ? quietRounds + 1 : 0
            spent += min(ContinuousClock.now - start, .seconds(1)) / (isStill ? 1 : 4)
            guard spent < timeout else {
                let left = [busy ?? "the network"] + (await unfinishedWork())
                throw NotSettled("after \(timeout) there is still work in \(left.joined(separator: "; "))")
            }
        }
    }

    /// Moves the clock, and lets everything happen that its timers set off, each at its own time: attempts to connect,
    /// and messages that a latency delays. Stores of this server alone are waited for.
    ///
    /// - Throws: ``NotSettled``.
    public func advance(by duration: Duration) async throws {
        try await settled()
        let end = clock.elapsed + duration
        while clock.advanceToNextTimer(until: end) { try await settled() }
        try await settled()
    }

    /// Lets every place finish what it has, in the direction in which messages travel.
    ///
    /// - Returns: the first place that has more to do.
    private func busyPlace() async throws -> String? {
        let (server, clients) = state.withLock { ($0.server, Array($0.clients.values)) }
        var busy: String?
        for client in clients {
            if let core = client.core, await !core.isQuiet(connecting: client.link.isDelayed) {
                busy = client.name
            }
        }
        await floor.flush()
        if let server, await !server.isQuiet() { busy = "the server" }
        await floor.flush()
        return busy
    }

    /// What each store still has to do or to get, in words; nothing for those that have all.
    private func unfinishedWork() async -> [String] {
        var texts: [String] = []
        for client in state.withLock({ $0.clients.values.sorted { $0.number < $1.number } }) {
            guard let core = client.core else { continue }
            var parts = (try? await core.perform { Self.unfinishedWork($0, core.storage) }) ?? []
            let held = client.link.held
            if !held.isEmpty { parts.append("held: \(held.map(\.description).joined(separator: ", "))") }
            if !parts.isEmpty { texts.append("\(client.name): \(parts.joined(separator: ", "))") }
        }
        return texts
    }

    private static func unfinishedWork(_ engine: ClientEngine, _ storage: SQLiteClientStorage) -> [String] {
        var parts: [String] = []
        let status = engine.sessionStatus
        if status.activity != .idle { parts.append(status.activity.rawValue) }
        if engine.hasBusyObservers { parts.append("an observer handles an event") }
        if storage.outboxCount > 0 { parts.append("\(storage.outboxCount) writes to upload") }
        for subscription in engine.storeSubscriptions where subscription.status.state != .complete {
            parts.append(subscription.description)
        }
        return parts
    }
}
