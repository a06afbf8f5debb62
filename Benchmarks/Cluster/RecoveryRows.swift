#if PostgreSQL

    import Foundation
    import Glibc
    import Sluice
    import SluiceModel
    import SluiceStorage
    import TestSupport

    /// S9 to S11: how soon a cluster serves after something has begun or ended. Nodes are processes of the program beside
    /// this one, and the clients are stores in this process. Run by `make bench-cluster`.
    struct RecoveryRows {
        let workbench: Workbench
        private let url: String

        /// - Throws: ``BenchmarkError`` where no PostgreSQL is named.
        init(_ workbench: Workbench) throws {
            self.workbench = workbench
            url = try ClusterRows.journalURL()
        }

        /// Starts a node.
        func node(_ name: String) async throws -> ServerProcess {
            try await ServerProcess.start(
                folder: workbench.freshPath(name), options: ["--journal=\(url)", "--node=\(name)"])
        }

        // MARK: A new node

        /// S9: from the start of a node without replicas until it has answered a store's question of a large database.
        func newNode() async throws -> [Measurement] {
            let name = "large"
            let count = Int64(workbench.options.size(1_000_000, quick: 20_000))
            let folder = workbench.freshPath("adopted")
            let byteCount = try makeDatabase(name, of: count, in: folder)
            let adopted = try await Tool.run("cluster", "adopt", "--journal=\(url)", "--data=\(folder)")
            try check(adopted.code, is: 0, "the code of 'cluster adopt', which says \(adopted.diagnostics),")
            let times = try await workbench.repeated { run in
                let start = ContinuousClock.now
                let node = try await node("new\(run)")
                let configuration = StoreConfiguration(
                    schema: try BenchNode.schema(hasNotes: true), sync: SyncConfiguration(url: node.url(name)))
                let store = try await Store.open(configuration)
                let found = try await store.records("Car WHERE id == \(1_000_000 + count / 2)").synced(timeout: waitMax)
                let time = (ContinuousClock.now - start) / .seconds(1)
                try check(found.count, is: 1, "the number of objects that were asked for")
                await store.close()
                try await node.kill()
                return time
            }
            let size = (Double(byteCount) / 1e9).formatted(.number.precision(.fractionLength(2)))
            return [
                Measurement(
                    .clusterNewNode, "from the start of a node until it answers, a database of \(size) GB",
                    ours: times.median, unit: "s", goal: .atMost(20), samples: ["ours": times])
            ]
        }

        /// Makes the file of a server alone, with objects of a kilobyte that do not compress.
        ///
        /// - Returns: the size of the file, in bytes.
        private func makeDatabase(_ name: String, of count: Int64, in folder: String) throws -> Int {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let path = "\(folder)/\(name).sluicedb"
            let node = try BenchNode(nil, name, path: path)
            try node.open(1, hasNotes: true)
            var state: UInt64 = 88_172_645_463_325_252
            node.note = {
                // Marsaglia, "Xorshift RNGs" (2003); six bits a character.
                var bytes: [UInt8] = []
                bytes.reserveCapacity(1_000)
                for _ in 0..<100 {
                    state ^= state << 13
                    state ^= state >> 7
                    state ^= state << 17
                    for shift in 0..<10 as Range<UInt64> { bytes.append(UInt8(state >> (6 * shift) & 63) + 48) }
                }
                return String(decoding: bytes, as: UTF8.self)
            }
            let step: Int64 = 4_000
            for first in stride(from: 0, to: count, by: Int(step)) { try node.create(first..<min(first + step, count)) }
            node.close()
            return try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        }

        // MARK: Ends

        /// S10: from the kill of a node until each of its clients has written a transaction that was begun after it, at the
        /// other node.
        func killedNode() async throws -> [Measurement] {
            let count = workbench.options.size(100, quick: 5)
            let times = try await workbench.repeated { run in
                let (killed, other) = (try await node("killed\(run)"), try await node("other\(run)"))
                let name = "kill-\(run)"
                let writers = try await RecoveryWriters(count, urls: [killed.url(name), other.url(name)])
                let time = try await writers.time { killed.process.signal(SIGKILL) }
                try await writers.verify(at: other.url(name))
                for node in [killed, other] { try await node.kill() }
                return time
            }
            return [
                Measurement(
                    .clusterKilledNode, "from the kill of a node until \(count) clients have written elsewhere",
                    ours: times.median, unit: "s", goal: .atMost(3), samples: ["ours": times])
            ]
        }

        /// S11: from when PostgreSQL takes connections again, after it was killed and was away for a while, until each
        /// client of two nodes has written a transaction.
        func restartedServer() async throws -> [Measurement] {
            guard let control = ProcessInfo.processInfo.environment["SLUICE_POSTGRES"] else {
                throw BenchmarkError("the row S11 has to start PostgreSQL again; run `make bench-cluster`")
            }
            let count = workbench.options.size(20, quick: 4)
            var measurements: [Measurement] = []
            for away in [0, 20] {
                let times = try await workbench.repeated { run in
                    let nodes = [try await node("one\(away)-\(run)"), try await node("two\(away)-\(run)")]
                    let urls = nodes.map { $0.url("restart-\(away)-\(run)") }
                    let writers = try await RecoveryWriters(count, urls: urls, spread: true)
                    let time = try await writers.time {
                        let exit = try await ChildProcess(control, ["restart", "\(away)"]).finish()
                        try check(exit.code, is: 0, "the code of PostgreSQL's restart, which says \(exit.diagnostics),")
                    }
                    try await writers.verify(at: urls[0])
                    for node in nodes { try await node.kill() }
                    return time
                }
                measurements.append(
                    Measurement(
                        .clusterRestart,
                        "from PostgreSQL's start until \(count) clients have written, after it was away for \(away) s",
                        ours: times.median, unit: "s", goal: .atMost(3), samples: ["ours": times]))
            }
            return measurements
        }
    }

#endif
