import Sluice

/// B1: increments of one property of one object, made without a server, one transaction each. The time runs from
/// connecting until the server has acknowledged all of them as durable.
struct BacklogRow {
    private let workbench: Workbench
    private let count: Int

    init(_ workbench: Workbench) {
        self.workbench = workbench
        count = workbench.options.size(100_000, quick: 2_000)
    }

    func measure() async throws -> [Measurement] {
        let pairs = try await workbench.repeated { _ in
            (ours: Double(count) / (try await upload()), floor: Double(count) / (try await raw()))
        }
        return [
            Measurement(
                .backlog, "upload of \(Double(count).shown) increments of one object", ours: pairs.map(\.ours),
                floor: pairs.map(\.floor), unit: "operations/s", goal: .atLeast(100_000))
        ]
    }

    /// Uploads a backlog, and returns how long that took in seconds.
    private func upload() async throws -> Double {
        try await workbench.withServer { url in
            let path = workbench.freshPath("writer")
            try await writeOffline(path)
            let seconds = try await workbench.seconds {
                let store = try await workbench.openStore("writer", models: [Car.self], path: path, url: url)
                try await store.uploaded(timeout: .seconds(120))
                await store.close()
            }
            let reader = try await workbench.openStore("reader", models: [Car.self], url: url)
            let objects = reader.objects(Car.self)
            try await reader.core.synced(try objects.query(), timeout: .seconds(60)) {}
            try check(try objects.fetch().map(\.views), is: [Car.numbered(0..<1)[0].views + count], "the counter")
            await reader.close()
            return seconds
        }
    }

    /// Fills the outbox of a store whose server is a port at which nobody listens.
    private func writeOffline(_ path: String) async throws {
        let store = try await workbench.openStore(
            "writer", models: [Car.self], path: path, url: "ws://127.0.0.1:1/bench")
        let car = Car.numbered(0..<1)[0]
        try await store.write { try $0.insert(car) }
        for _ in 0..<count { try await store.write { try $0.increment(car, \.views, by: 1) } }
        await store.close()
    }

    /// Does the same with SQLite alone, and returns how long it took in seconds. For each thousand increments there is
    /// one transaction, with a line of a log for each increment and one update of the counter.
    private func raw() async throws -> Double {
        let path = workbench.freshPath("raw")
        let store = try await workbench.openStore("raw", models: [Car.self], path: path)
        try await store.insert(Car.numbered(0..<1), hasServer: false)
        await store.close()
        let database = try RawDatabase(path: path)
        try database.execute("CREATE TABLE log (version INTEGER PRIMARY KEY, change BLOB)")
        return try await workbench.seconds {
            for start in stride(from: 0, to: count, by: 1_000) {
                try database.execute("BEGIN")
                for _ in start..<min(count, start + 1_000) {
                    try database.execute("INSERT INTO log (change) VALUES (randomblob(20))")
                }
                try database.execute("UPDATE o_Car SET p_views = p_views + 1000")
                try database.execute("COMMIT")
            }
        }
    }
}
