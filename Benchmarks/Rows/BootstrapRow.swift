import Sluice
import SluiceModel

/// R1: a bootstrap of all objects of a class into an empty store.
struct BootstrapRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func measure() async throws -> [Measurement] { [try await cars(), try await flights()] }

    private func cars() async throws -> Measurement {
        let count = workbench.options.size(100_000, quick: 5_000)
        return try await workbench.withServer { url in
            let source = try await workbench.openStore("source", models: [Car.self], url: url)
            try await source.insert(Car.numbered(0..<count))
            await source.close()
            let sum = Car.numbered(0..<count).reduce(0) { $0 + $1.views }
            return try await bootstrap(Car.self, models: [Car.self], url: url, name: "cars", goal: 1.2) { database in
                try check(try database.integer("SELECT count(*) FROM o_Car WHERE _state = 1"), is: count, "the cars")
                try check(try database.integer("SELECT sum(p_views) FROM o_Car"), is: sum, "the sum of views")
            }
        }
    }

    private func flights() async throws -> Measurement {
        let data = try FlightData()
        let flights = data.flights(workbench.options.size(336_776, quick: 12_000))
        return try await workbench.withServer { url in
            try await workbench.upload(flights, with: data, to: url)
            let sum = flights.reduce(0) { $0 + ($1.departureDelay ?? 0) }
            let links = flights.reduce(0) { $0 + ($1.plane?.key == nil ? 0 : 1) }
            return try await bootstrap(
                Flight.self, models: FlightData.models, url: url, name: "flights", goal: 1
            ) { database in
                try check(
                    try database.integer("SELECT count(*) FROM o_Flight WHERE _state = 1"), is: flights.count,
                    "the flights")
                try check(
                    try database.integer("SELECT sum(p_departureDelay) FROM o_Flight"), is: sum, "the sum of delays")
                try check(
                    try database.integer("SELECT count(*) FROM o_Flight f JOIN o_Plane p ON p._row = f.p_plane"),
                    is: links, "the links to planes")
                try check(
                    try database.integer("SELECT count(*) FROM o_Airline WHERE _state = 1") > 0, is: true,
                    "whether airlines came along")
            }
        }
    }

    private func bootstrap<Element: Model>(
        _ type: Element.Type, models: [any Model.Type], url: String, name: String, goal: Double,
        verify: (RawDatabase) throws -> Void
    ) async throws -> Measurement {
        var floor: InsertFloor?
        let pairs = try await workbench.repeated { _ in
            let path = workbench.freshPath(name)
            let store = try await workbench.openStore(name, models: models, path: path, url: url)
            try await store.connected(timeout: .seconds(30))
            let query = try store.objects(type).query()
            let seconds = try await workbench.seconds {
                try await store.core.synced(query, timeout: .seconds(60)) {}
            }
            let schema = store.schema
            await store.close()
            try verify(try RawDatabase(path: path))
            let least = try floor ?? InsertFloor(store: path, schema: schema)
            floor = least
            return (ours: Double(least.rowCount) / seconds, floor: try await least.rate(workbench))
        }
        let rowCount = floor.map { Double($0.rowCount).shown } ?? ""
        return Measurement(
            .bootstrap, "bootstrap of \(name), \(rowCount) rows", ours: pairs.map(\.ours), floor: pairs.map(\.floor),
            unit: "rows/s", goal: .ratioAtLeast(goal))
    }
}

extension Store {
    /// Writes objects in transactions of moderate size, and waits until the server has them, if there is one.
    func insert<Element: Model>(
        _ objects: [Element], batch: Int = 2_000, hasServer: Bool = true
    ) async throws {
        for start in stride(from: 0, to: objects.count, by: batch) {
            let part = objects[start..<min(start + batch, objects.count)]
            try await write { transaction in
                for object in part { try transaction.insert(object) }
            }
        }
        if hasServer { try await uploaded(timeout: .seconds(60)) }
    }
}
