#if PostgreSQL

    import Dispatch
    import Foundation
    import SluicePostgres
    import SluiceServer
    import SluiceStorage
    import Synchronization

    /// S1 to S8: what several nodes on one PostgreSQL cost and give, beside a server alone in the same run. All nodes and
    /// PostgreSQL share the machine, and PostgreSQL syncs. Run by `make bench-cluster`.
    struct ClusterRows {
        private let workbench: Workbench
        private let url: String

        /// - Throws: ``BenchmarkError`` where no PostgreSQL is named.
        init(_ workbench: Workbench) throws {
            self.workbench = workbench
            url = try Self.journalURL()
        }

        /// The address of the PostgreSQL of a run, which has the tables of a cluster.
        ///
        /// - Throws: ``BenchmarkError`` where none is named.
        static func journalURL() throws -> String {
            guard let url = ProcessInfo.processInfo.environment["SLUICE_JOURNAL"] else {
                throw BenchmarkError("the rows S1 to S11 need a PostgreSQL; run `make bench-cluster`")
            }
            try PostgresCluster.initialize(url)
            return url
        }

        private func journals(_ name: String) throws -> PostgresJournals { try PostgresJournals(url: url, node: name) }

        private func freshDatabase() -> String { "bench-\(UUID().uuidString.prefix(8))" }

        /// The times of `count` calls, in milliseconds.
        private func times(_ count: Int, _ body: () throws -> Void) rethrows -> [Double] {
            try (0..<count).map { _ in
                let start = ContinuousClock.now
                try body()
                return (ContinuousClock.now - start) / .milliseconds(1)
            }
        }

        private func seconds(_ body: () throws -> Void) rethrows -> Double {
            let start = ContinuousClock.now
            try body()
            return (ContinuousClock.now - start) / .seconds(1)
        }

        /// Runs `body` with a node, or with a server alone.
        private func withNode<Result>(
            _ journals: PostgresJournals?, _ writerCount: Int, _ body: (BenchNode) throws -> Result
        ) throws -> Result {
            let node = try BenchNode(journals, freshDatabase(), path: workbench.freshPath("node"))
            defer { node.close() }
            try node.open(writerCount)
            for _ in 0..<50 { try node.commit(writerCount) }
            return try body(node)
        }

        // MARK: One writer

        /// S1: the time that PostgreSQL adds to a commit of one transaction.
        func addedTime() throws -> [Measurement] {
            let count = workbench.options.size(3_000, quick: 200)
            var (added, tails, alone, together): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
            for _ in 0..<workbench.options.runCount {
                let own = try withNode(nil, 1) { node in try times(count) { try node.commit(1) } }
                let shared = try withNode(journals("a"), 1) { node in try times(count) { try node.commit(1) } }
                alone.append(own.median)
                together.append(shared.median)
                added.append(shared.median - own.median)
                tails.append(shared.percentile(0.99) - own.percentile(0.99))
            }
            return [
                Measurement(
                    .clusterAddedTime, "added to a commit of one transaction, p50", ours: added.median, unit: "ms",
                    goal: .atMost(0.4), samples: ["alone": alone, "cluster": together]),
                Measurement(
                    .clusterAddedTime, "added to a commit of one transaction, p99", ours: tails.median, unit: "ms",
                    goal: .atMost(2), samples: ["added": tails]),
            ]
        }

        /// S2: one node's commits in groups, of what a server alone commits.
        func oneWriter() throws -> [Measurement] {
            try [(1, 0.5), (10, 0.6), (100, 0.8)].map { size, goal in
                let count = workbench.options.size(3_000, quick: 200) / (size == 100 ? 4 : 1)
                func rate(_ journals: PostgresJournals?) throws -> Double {
                    try withNode(journals, size) { node in
                        Double(count * size) / (try seconds { for _ in 0..<count { try node.commit(size) } })
                    }
                }
                let pairs = try (0..<workbench.options.runCount).map { _ in (try rate(journals("a")), try rate(nil)) }
                return Measurement(
                    .clusterOneWriter, "transactions in groups of \(size)", ours: pairs.map(\.0), floor: pairs.map(\.1),
                    unit: "tx/s", goal: .ratioAtLeast(goal))
            }
        }

        // MARK: Several nodes

        /// S3: two nodes that both commit groups of 100 to one database all the time.
        func twoNodes() throws -> [Measurement] {
            let time = workbench.options.size(4_000, quick: 500)
            var (totals, shares, tails, alone): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
            for _ in 0..<workbench.options.runCount {
                let results = try together(2, inOneDatabase: true, for: .milliseconds(time), groupSize: 100)
                let counts = results.map { Double($0.count * 100) / (Double(time) / 1_000) }
                totals.append(counts.reduce(0, +))
                shares.append((counts.min() ?? 0) / max(counts.reduce(0, +), 1) * 100)
                tails.append(results.flatMap(\.self).percentile(0.99))
                alone.append(
                    try withNode(nil, 100) { node in
                        let times = try seconds { for _ in 0..<100 { try node.commit(100) } }
                        return 10_000 / times
                    })
            }
            return [
                Measurement(
                    .clusterTwoNodes, "two nodes in one database, groups of 100: both", ours: totals, floor: alone,
                    unit: "tx/s", goal: .ratioAtLeast(0.45)),
                Measurement(
                    .clusterTwoNodes, "… the share of the slower", ours: shares.median, unit: "%", goal: .atLeast(40),
                    samples: ["share": shares]),
                Measurement(
                    .clusterTwoNodes, "… a group, p99", ours: tails.median, unit: "ms", goal: .atMost(50),
                    samples: ["p99": tails]),
            ]
        }

        /// S4: a transaction of many operations on one node, beside small ones of another.
        func largeBesideSmall() throws -> [Measurement] {
            let count = Int64(workbench.options.size(100_000, quick: 1_000))
            let database = freshDatabase()
            let (small, large) = (
                try BenchNode(journals("a"), database, path: workbench.freshPath("a"), number: 1),
                try BenchNode(journals("b"), database, path: workbench.freshPath("b"), number: 2)
            )
            defer { for node in [small, large] { node.close() } }
            try small.open(1)
            large.follow()
            try large.open(1)
            let isDone = Atomic(false)
            let writing = DispatchGroup()
            let smallTimes = Mutex<[Double]>([])
            DispatchQueue.global().async(group: writing) {
                while !isDone.load(ordering: .relaxed) {
                    let start = ContinuousClock.now
                    _ = try? small.commit(1)
                    let took = (ContinuousClock.now - start) / .milliseconds(1)
                    smallTimes.withLock { $0.append(took) }
                    usleep(500)
                }
            }
            var worst = 0.0
            for round in 0..<Int64(10) {
                worst = max(worst, try seconds { try large.create((round * count)..<((round + 1) * count)) })
            }
            isDone.store(true, ordering: .relaxed)
            writing.wait()
            return [
                Measurement(
                    .clusterLarge,
                    "a transaction of \(Double(count).shown) operations beside small ones, the slowest of 10",
                    ours: worst, unit: "s", goal: .atMost(3),
                    samples: ["small ms": [smallTimes.withLock { $0 }.percentile(0.99)]])
            ]
        }

        /// S5: nodes with a database each, side by side, of what the statements alone give.
        func manyDatabases() throws -> [Measurement] {
            let time = workbench.options.size(4_000, quick: 500)
            func rate(_ results: [[Double]]) -> Double {
                Double(results.reduce(0) { $0 + $1.count }) / (Double(time) / 1_000)
            }
            return try [8, 32].map { count in
                let pairs = try (0..<workbench.options.runCount).map { _ in
                    (
                        rate(try together(count, inOneDatabase: false, for: .milliseconds(time), groupSize: 1)),
                        rate(try statements(count, for: .milliseconds(time)))
                    )
                }
                return Measurement(
                    .clusterDatabases, "\(count) databases side by side, of the statements alone",
                    ours: pairs.map(\.0), floor: pairs.map(\.1), unit: "groups/s", goal: .ratioAtLeast(0.7))
            }
        }

        /// Has journals without engines take groups of the size of one transaction, each that of its own database.
        ///
        /// - Returns: the times of each journal's groups, in milliseconds.
        private func statements(_ count: Int, for time: Duration) throws -> [[Double]] {
            let size = try withNode(journals("size"), 1) { node in
                try node.storage.journal?.records(after: node.storage.head.position - 1, countMax: 1).first?.bytes.count
            }
            let database = freshDatabase()
            let opened = try (0..<count).map { number in
                try journals("statements\(number)").journal(ofDatabase: "\(database)-\(number)")
            }
            let heads = Mutex(try opened.map { JournalHead(of: try $0.databaseID) })
            return inParallel(count, for: time) { number in
                // The group begins with its number, so that no two are the same.
                let head = heads.withLock { $0[number] }
                let bytes = withUnsafeBytes(of: head.position) { Array($0) }
                let group = bytes + [UInt8](repeating: 7, count: max(0, (size ?? 0) - bytes.count))
                let record = JournalRecord(head: head.following(group), bytes: group)
                try opened[number].appendSurely(record, after: head)
                heads.withLock { $0[number] = record.head }
                return true
            }
        }

        /// Has nodes commit groups at the same time.
        ///
        /// - Returns: the times of each node's groups, in milliseconds.
        private func together(
            _ count: Int, inOneDatabase: Bool, for time: Duration, groupSize: Int
        ) throws -> [[Double]] {
            let database = freshDatabase()
            let nodes = try (0..<count).map { number -> BenchNode in
                let node = try BenchNode(
                    journals("node\(number)"), inOneDatabase ? database : "\(database)-\(number)",
                    path: workbench.freshPath("node"), number: UInt64(number + 1))
                node.follow()
                try node.open(groupSize)
                return node
            }
            defer { for node in nodes { node.close() } }
            return inParallel(count, for: time) { try nodes[$0].commit(groupSize) }
        }

        /// Does something again and again on some threads.
        ///
        /// - Parameter body: called with the number of the thread; returns whether it counts.
        /// - Returns: the times of what each thread has done, in milliseconds.
        private func inParallel(
            _ count: Int, for time: Duration, _ body: @escaping (_ number: Int) throws -> Bool
        ) -> [[Double]] {
            // Sound because each thread uses what has its number.
            nonisolated(unsafe) let body = body
            let results = Mutex<[[Double]]>([])
            let work = DispatchGroup()
            let end = ContinuousClock.now + time
            for number in 0..<count {
                let thread = Thread {
                    var times: [Double] = []
                    while ContinuousClock.now < end {
                        let start = ContinuousClock.now
                        guard (try? body(number)) == true else { continue }
                        times.append((ContinuousClock.now - start) / .milliseconds(1))
                    }
                    results.withLock { [times] in $0.append(times) }
                    work.leave()
                }
                work.enter()
                thread.start()
            }
            work.wait()
            return results.withLock { $0 }
        }

        // MARK: Following

        /// S6: how fast a node follows, of how fast the other commits.
        func following() throws -> [Measurement] {
            try [1, 100].map { size in
                let count = workbench.options.size(3_000, quick: 200) / (size == 100 ? 4 : 1)
                let pairs = try (0..<workbench.options.runCount).map { _ in
                    let database = freshDatabase()
                    let leader = try BenchNode(journals("a"), database, path: workbench.freshPath("a"), number: 1)
                    let follower = try BenchNode(journals("b"), database, path: workbench.freshPath("b"), number: 2)
                    defer { for node in [leader, follower] { node.close() } }
                    try leader.open(size)
                    follower.follow()
                    let committing = try seconds { for _ in 0..<count { try leader.commit(size) } }
                    let following = seconds { follower.follow() }
                    try check(follower.storage.head, is: leader.storage.head, "the follower's head")
                    return (Double(count * size) / following, Double(count * size) / committing)
                }
                return Measurement(
                    .clusterFollowing, "following groups of \(size), of committing them", ours: pairs.map(\.0),
                    floor: pairs.map(\.1), unit: "tx/s", goal: .ratioAtLeast(1.5))
            }
        }

        /// S7: from a commit on one node until another has applied it.
        func news() throws -> [Measurement] {
            let count = workbench.options.size(1_000, quick: 100)
            let database = freshDatabase()
            let (own, others) = (try journals("a"), try journals("b"))
            defer { for service in [own, others] { service.stop() } }
            let leader = try BenchNode(own, database, path: workbench.freshPath("a"), number: 1)
            let follower = try BenchNode(others, database, path: workbench.freshPath("b"), number: 2)
            defer { for node in [leader, follower] { node.close() } }
            try leader.open(1)
            follower.follow()
            let heard = DispatchSemaphore(value: 0)
            others.watch { _ in heard.signal() }
            own.watch { _ in }
            // Until the bell has its connection.
            for _ in 0..<20 {
                try leader.commit(1)
                heard.wait()
                follower.follow()
            }
            let times = try times(count) {
                try leader.commit(1)
                while follower.storage.head != leader.storage.head {
                    heard.wait()
                    follower.follow()
                }
            }
            return [
                Measurement(
                    .clusterNews, "a commit until another node has it, p50", ours: times.median, unit: "ms",
                    goal: .atMost(2.5)),
                Measurement(
                    .clusterNews, "… p99", ours: times.percentile(0.99), unit: "ms", goal: .atMost(20)),
            ]
        }

        /// S8: an import, committed and followed, of what a server alone takes.
        func importing() throws -> [Measurement] {
            let count = Int64(workbench.options.size(10_000, quick: 1_000))
            func run(_ node: BenchNode) throws -> Double {
                try seconds { for round in 0..<Int64(10) { try node.create((round * count)..<((round + 1) * count)) } }
            }
            var (alone, committed, followed): ([Double], [Double], [Double]) = ([], [], [])
            for _ in 0..<workbench.options.runCount {
                alone.append(try withNode(nil, 1, run))
                let database = freshDatabase()
                let leader = try BenchNode(journals("a"), database, path: workbench.freshPath("a"), number: 1)
                let follower = try BenchNode(journals("b"), database, path: workbench.freshPath("b"), number: 2)
                defer { for node in [leader, follower] { node.close() } }
                try leader.open(1)
                follower.follow()
                committed.append(try run(leader))
                followed.append(seconds { follower.follow() })
            }
            let title = "an import of \(Double(count * 10).shown) objects"
            return [
                Measurement(
                    .clusterImport, "\(title), committed", ours: committed, floor: alone, unit: "s",
                    goal: .ratioAtMost(1.3)),
                Measurement(
                    .clusterImport, "\(title), followed", ours: followed, floor: alone, unit: "s",
                    goal: .ratioAtMost(1.3)),
            ]
        }
    }

#endif
