internal import Synchronization

/// What an open store looks after until it is closed.
extension StoreCore {
    /// How often a store to which nobody writes checks that its file is still there.
    private static let fileCheckInterval: Duration = .seconds(5)

    /// Checks periodically that the file is still there, until the store is closed.
    func watchFile() {
        configuration.environment.schedule(Self.fileCheckInterval) { [weak self] in
            guard let self, !isClosed else { return }
            performLater { $0.checkFile() }
            watchFile()
        }
    }

    /// How often a store looks whether the machine was suspended, and for how long it must have been.
    private static let suspensionCheckInterval: Duration = .seconds(5)
    private static let suspensionMin: Duration = .seconds(1)

    /// Notices, until the store is closed, that the machine has other addresses or routes, or was suspended.
    func watchSurroundings() {
        let watch = configuration.environment.watchNetwork { [weak self] in
            self?.performLater { $0.handle(.surroundingsChanged) }
        }
        networkWatch.withLock { $0 = watch }
        watchSuspension(after: configuration.environment.suspendedTime())
    }

    private func watchSuspension(after known: Duration) {
        configuration.environment.scheduleUpkeep(Self.suspensionCheckInterval) { [weak self] in
            guard let self, !isClosed else { return }
            let time = configuration.environment.suspendedTime()
            if time - known >= Self.suspensionMin { performLater { $0.handle(.surroundingsChanged) } }
            watchSuspension(after: time)
        }
    }

    /// Keeps what nobody observes within its limits, until the store is closed.
    func sweepCache(after delay: Duration) {
        configuration.environment.scheduleUpkeep(delay) { [weak self] in
            guard let self, !isClosed else { return }
            performLater { engine in
                engine.faults.recording("cached objects could not be removed") { try engine.sweepCache() }
            }
            let age = configuration.cacheLimits.ageMax ?? .seconds(600)
            sweepCache(after: min(.seconds(600), max(.seconds(1), age / 8)))
        }
    }
}
