import Sluice

/// R14: what the SDK adds to SQLite, without any server.
struct LocalStoreRow {
    private let workbench: Workbench
    private let listings: [Listing]

    init(_ workbench: Workbench) {
        self.workbench = workbench
        listings = Car.numbered(0..<workbench.options.size(100_000, quick: 5_000)).map { Listing($0) }
    }

    private struct Run {
        var insert = 0.0
        var insertFloor = 0.0
        var fetch = 0.0
        var fetchFloor = 0.0
        var window = 0.0
        var windowFloor = 0.0
    }

    func measure() async throws -> [Measurement] {
        let runs = try await workbench.repeated { _ in try await run() }
        let count = Double(listings.count).shown
        return [
            Measurement(
                .localStore, "local insert of \(count) objects", ours: runs.map(\.insert),
                floor: runs.map(\.insertFloor),
                unit: "rows/s", goal: .ratioAtLeast(0.85)),
            Measurement(
                .localStore, "fetch of \(count) objects", ours: runs.map(\.fetch), floor: runs.map(\.fetchFloor),
                unit: "rows/s", goal: .ratioAtLeast(0.9)),
            Measurement(
                .localStore, "first event of a window of \(Self.limit) among \(count) objects",
                ours: runs.map(\.window), floor: runs.map(\.windowFloor),
                unit: "ms", goal: .ratioAtMost(2)),
        ]
    }

    /// How many objects the window shows.
    private static let limit = 100

    private func run() async throws -> Run {
        let path = workbench.freshPath("local")
        let store = try await workbench.openStore("local", models: [Listing.self], path: path)
        let listings = listings
        let count = Double(listings.count)
        var run = Run()
        run.insert =
            try await count
            / workbench.seconds {
                try await store.write { transaction in
                    for listing in listings { try transaction.insert(listing) }
                }
            }
        let objects = store.objects(Listing.self)
        var fetched: [Listing] = []
        // The first fetch fills the page cache for both.
        _ = try objects.fetch()
        run.fetch = try await count / workbench.seconds { fetched = try objects.fetch() }
        try check(fetched.map(\.title), is: listings.map(\.title), "the objects fetched")
        let cheapest = objects.sorted(by: \.price).limit(Self.limit)
        run.window =
            try await 1_000
            * workbench.seconds {
                let events = Progress()
                let token = try cheapest.observe { change in events.report(change.results.count) }
                _ = try await events.wait(for: Self.limit)
                token.stop()
            }
        let schema = store.schema
        await store.close()
        run.insertFloor = try await InsertFloor(store: path, schema: schema).rate(workbench)
        let database = try RawDatabase(path: path)
        let sql = """
            SELECT _row, _version, _absent, _hi, _lo, p_title, p_name, p_price, p_views, p_color, p_year \
            FROM o_Listing WHERE _state = 1
            """
        let first = sql + " ORDER BY p_price, _hi, _lo LIMIT \(Self.limit)"
        _ = try database.step(sql)
        var stepped = 0
        run.fetchFloor = try await count / workbench.seconds { stepped = try database.step(sql) }
        try check(stepped, is: listings.count, "the rows stepped through")
        run.windowFloor = try await 1_000 * workbench.seconds { stepped = try database.step(first) }
        try check(stepped, is: Self.limit, "the first rows stepped through")
        return run
    }
}
