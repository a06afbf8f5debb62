#if PostgreSQL

    import Foundation
    import Sluice
    import TestSupport

    extension RecoveryRows {
        /// S7 with clients: from a store's write at one node until the observer of a store at another is told of it.
        func events() async throws -> [Measurement] {
            let count = workbench.options.size(1_000, quick: 50)
            let nodes = [try await node("writes"), try await node("observes")]
            let name = "events-\(UUID().uuidString.prefix(8))"
            var stores: [Store] = []
            for node in nodes {
                stores.append(
                    try await Store.open(
                        StoreConfiguration(
                            models: [RecoveryEntry.self], sync: SyncConfiguration(url: node.url(name)))))
            }
            let (seen, continuation) = AsyncStream.makeStream(of: Int.self)
            let token = try stores[1].objects(RecoveryEntry.self).observe { continuation.yield($0.results.count) }
            var counts = seen.makeAsyncIterator()
            var times: [Double] = []
            // The first ones find their ways prepared.
            let warmUpCount = 20
            for number in 0..<count + warmUpCount {
                let start = ContinuousClock.now
                try await stores[0].write { try $0.insert(RecoveryEntry(name: "\(number)", writer: 0)) }
                while let count = await counts.next(), count <= number {}
                if number >= warmUpCount { times.append((ContinuousClock.now - start) / .milliseconds(1)) }
            }
            token.stop()
            for store in stores { await store.close() }
            for node in nodes { try await node.kill() }
            return [
                Measurement(
                    .clusterNews, "a store's write at one node until a store at another is told, p50",
                    ours: times.median, unit: "ms", goal: .atMost(2.5)),
                Measurement(.clusterNews, "… p99", ours: times.percentile(0.99), unit: "ms", goal: .atMost(20)),
            ]
        }
    }

#endif
