internal import Sluice
internal import SluiceServer
internal import SluiceStorage
internal import Synchronization

/// Waiting until nothing happens any more.
extension TestWorld {
    /// How many times the timeout of ``settled(timeout:)`` may pass although there is progress: what goes on for ever
    /// does not settle.
    private static let progressFactor = 10

    /// Waits as ``TestServer/settled(timeout:)`` says.
    func settled(timeout: Duration) async throws {
        // On a busy machine a look may take long for reasons of others, so no look counts as more than a second.
        var (spent, withoutProgress) = (Duration.zero, Duration.zero)
        var quietRounds = 0
        while quietRounds < 2 {
            let start = ContinuousClock.now
            let activity = floor.activity
            let busy = try await busyPlace()
            let isStill = floor.activity == activity
            quietRounds = busy == nil && isStill ? quietRounds + 1 : 0
            let time = min(ContinuousClock.now - start, .seconds(1))
            spent += time
            withoutProgress = isStill ? withoutProgress + time : .zero
            guard withoutProgress < timeout, spent < timeout * Self.progressFactor else {
                let left = [busy ?? "the network"] + (await unfinishedWork())
                let time = min(spent, timeout * Self.progressFactor)
                throw NotSettled("after \(time) there is still work in \(left.joined(separator: "; "))")
            }
        }
    }

    /// Moves the clock as ``TestServer/advance(by:)`` says.
    func advance(by duration: Duration) async throws {
        let timeout = Duration.seconds(120)
        try await settled(timeout: timeout)
        let end = clock.elapsed + duration
        while clock.advanceToNextTimer(until: end) { try await settled(timeout: timeout) }
        try await settled(timeout: timeout)
    }

    /// Lets every place finish what it has, in the direction in which messages travel.
    ///
    /// - Returns: the first place that has more to do.
    private func busyPlace() async throws -> String? {
        var busy: String?
        for client in clients {
            if let core = client.core, await !core.isQuiet(connecting: client.link.isDelayed) {
                busy = client.name
            }
        }
        await floor.flush()
        for server in servers where await !server.isQuiet() { busy = "a server" }
        await floor.flush()
        return busy
    }

    /// What each store still has to do or to get, in words; nothing for those that have all.
    private func unfinishedWork() async -> [String] {
        var texts: [String] = []
        for client in clients {
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
