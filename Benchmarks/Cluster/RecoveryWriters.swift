#if PostgreSQL

    import Sluice
    import Synchronization
    import TestSupport

    /// How many entries a writer has written: each adds one, so what counts twice or is lost shows here.
    @Model struct RecoveryTally {
        @PrimaryKey var writer: Int
        var count = 0
    }

    /// What a writer has written.
    @Model struct RecoveryEntry {
        @PrimaryKey var name: String
        var writer: Int
    }

    /// Stores that write one transaction after the other, each once the one before is acknowledged.
    final class RecoveryWriters: Sendable {
        private struct Progress {
            var acknowledged = 0
            /// When something has ended; nil before.
            var ended: ContinuousClock.Instant?
            /// When the first transaction was acknowledged that was begun after that.
            var completed: ContinuousClock.Instant?
        }

        private final class Writer: Sendable {
            let store: Store
            let number: Int
            private let progress = Mutex(Progress())

            init(_ store: Store, _ number: Int) {
                self.store = store
                self.number = number
            }

            var acknowledged: Int { progress.withLock { $0.acknowledged } }
            var completed: ContinuousClock.Instant? { progress.withLock { $0.completed } }

            func noteEnd(at time: ContinuousClock.Instant) { progress.withLock { $0.ended = time } }

            /// Writes until a transaction that was begun after the end is acknowledged.
            func run() async throws {
                while completed == nil {
                    let begun = ContinuousClock.now
                    let number = number
                    let entry = RecoveryEntry(name: "\(number)/\(acknowledged)", writer: number)
                    try await store.write { transaction in
                        try transaction.insert(entry)
                        try transaction.increment(RecoveryTally(writer: number), \.count, by: 1)
                    }
                    try await store.uploaded(timeout: waitMax)
                    let time = ContinuousClock.now
                    progress.withLock { progress in
                        progress.acknowledged += 1
                        if let ended = progress.ended, begun > ended { progress.completed = time }
                    }
                }
            }
        }

        private let writers: [Writer]

        /// - Parameters:
        ///   - urls: the nodes.
        ///   - spread: whether the writers begin at different nodes; else all begin at the first.
        init(_ count: Int, urls: [String], spread: Bool = false) async throws {
            var writers: [Writer] = []
            for number in 0..<count {
                let first = spread ? number % urls.count : 0
                let configuration = StoreConfiguration(
                    models: [RecoveryTally.self, RecoveryEntry.self],
                    sync: SyncConfiguration(urls: Array(urls[first...] + urls[..<first])))
                let store = try await Store.open(configuration)
                try await store.write { try $0.insert(RecoveryTally(writer: number)) }
                try await store.uploaded(timeout: waitMax)
                writers.append(Writer(store, number))
            }
            self.writers = writers
        }

        /// Has all write, and something end while they do.
        ///
        /// - Parameter end: what ends something, and returns when it may go on.
        /// - Returns: the time from then until the last writer has written a transaction that it began after the beginning
        ///   of the end, in seconds.
        func time(_ end: () async throws -> Void) async throws -> Double {
            let runs = writers.map { writer in Task { try await writer.run() } }
            try await wait(for: "all to get on") { writers.allSatisfy { $0.acknowledged >= 5 } }
            let beginning = ContinuousClock.now
            try await end()
            let goesOn = ContinuousClock.now
            for writer in writers { writer.noteEnd(at: beginning) }
            for run in runs { try await run.value }
            return (writers.compactMap(\.completed).max() ?? goesOn).duration(from: goesOn) / .seconds(1)
        }

        /// Checks that a node has what the writers have written, each once.
        func verify(at url: String) async throws {
            let configuration = StoreConfiguration(
                models: [RecoveryTally.self, RecoveryEntry.self], sync: SyncConfiguration(url: url))
            let store = try await Store.open(configuration)
            let entries = try await store.objects(RecoveryEntry.self).synced(timeout: waitMax)
            let tallies = try await store.objects(RecoveryTally.self).synced(timeout: waitMax)
            for writer in writers {
                let written = writer.acknowledged
                let found = entries.count { $0.writer == writer.number }
                try check(found, is: written, "the number of entries of a writer")
                let count = tallies.first { $0.writer == writer.number }?.count
                try check(count, is: written, "what a writer has counted")
                await writer.store.close()
            }
            await store.close()
        }
    }

    extension ContinuousClock.Instant {
        fileprivate func duration(from start: ContinuousClock.Instant) -> Duration { start.duration(to: self) }
    }

#endif
