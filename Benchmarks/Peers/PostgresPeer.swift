#if PostgreSQL

    import SluicePostgres

    /// PostgreSQL that syncs each commit: a write is an UPDATE, and who follows LISTENs, and fetches the row by the key that
    /// NOTIFY names.
    ///
    /// A listener is told of keys and not of results: one with another condition would have to judge for itself what
    /// concerns it. Commits that notify wait for each other until the disk has them, so more writers do not share a sync.
    struct PostgresPeer: Peer {
        let name = "PostgreSQL"
        let path = "UPDATE to the row fetched after NOTIFY"
        let commitForms = [
            CommitForm(), CommitForm(writerCount: 8), CommitForm(writerCount: 8, tellsEach: false),
        ]
        /// Each listener is a process of the server. Its `max_connections` is twice that, since those of the run before may
        /// still be ending.
        let readerMax = 500
        var goals: (propagation: Measurement.Goal, commits: Measurement.Goal) { (.ratioAtMost(1.5), .ratioAtLeast(1)) }

        private let url: String

        /// - Throws: ``BenchmarkError`` if it does not sync each commit.
        init(url: String) throws {
            self.url = url
            let connection = try PostgresTable.connection(to: url)
            for setting in ["fsync", "synchronous_commit", "full_page_writes"] {
                let value = try connection.execute(PostgresStatement(nil, "SHOW \(setting)")).text(0)
                try check(value, is: "on", "\(setting) of PostgreSQL")
            }
        }

        func makeCars(_ count: Int) throws -> any PeerCars { try PostgresTable(url: url, carCount: count) }

        /// Each listener has a thread, as it would have a process elsewhere.
        func fanOut(to readerCount: Int, rounds: Int) async throws -> Double {
            let cars = try makeCars(10)
            let received = Progress()
            let tally = Tally()
            let observers = try (0..<readerCount).map { reader in
                try cars.observe { _, views in
                    if tally.isFirst("\(reader) \(views)") { received.report(tally.count) }
                }
            }
            let writer = try cars.writer()
            var seconds = 0.0
            for round in 1...rounds + 1 {
                let start = ContinuousClock.now
                try writer.write(round)
                let end = try await received.wait(for: readerCount * round, from: observers)
                // The first round warms up.
                if round > 1 { seconds += (end - start) / .seconds(1) }
            }
            try writer.endObservers()
            return Double(readerCount * rounds) / seconds
        }
    }

#endif
