import Sluice

/// R16: stores that are new to a server open their sessions at once, each on a connection of its own.
struct OpeningsRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func measure() async throws -> [Measurement] {
        Descriptors.raiseLimit()
        let count = workbench.options.size(1_000, quick: 50)
        let rates = try await workbench.repeated { _ in
            try await workbench.withServer { url in
                // The schema is there.
                let first = try await workbench.openStore("first", models: [Car.self], url: url)
                try await first.insert(Car.numbered(0..<1))
                var sync = SyncConfiguration(url: url)
                sync.sharesConnection = false
                // Each has a memory of its own.
                let configurations = (0..<count).map { _ in StoreConfiguration(models: [Car.self], sync: sync) }
                let start = ContinuousClock.now
                let stores = try await withThrowingTaskGroup(of: Store.self) { group in
                    for configuration in configurations {
                        group.addTask {
                            let store = try await Store.open(configuration)
                            try await store.connected(timeout: .seconds(60))
                            return store
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                let seconds = (ContinuousClock.now - start) / .seconds(1)
                for store in stores + [first] { await store.close() }
                return Double(count) / seconds
            }
        }
        return [
            Measurement(
                .openings, "\(count) new stores open their sessions at once", ours: rates.median, unit: "openings/s",
                goal: .none, samples: ["ours": rates])
        ]
    }
}
