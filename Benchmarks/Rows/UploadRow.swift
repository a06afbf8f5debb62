import Sluice

/// R2: uploading the objects written on a client, until the server has acknowledged all of them as durable.
struct UploadRow {
    private let workbench: Workbench
    private let cars: [Car]

    init(_ workbench: Workbench) {
        self.workbench = workbench
        cars = Car.numbered(0..<workbench.options.size(100_000, quick: 5_000))
    }

    func measure() async throws -> [Measurement] {
        let floor = try await insertFloor()
        var live: [Double] = []
        var connecting: [Double] = []
        var floors: [Double] = []
        _ = try await workbench.repeated { _ in
            live.append(try await writeLive())
            connecting.append(try await writeThenConnect())
            floors.append(try await floor.rate(workbench))
        }
        return [
            Measurement(
                .upload, "upload of \(Double(cars.count).shown) cars written while connected", ours: live,
                floor: floors,
                unit: "rows/s", goal: .ratioAtLeast(0.40)),
            Measurement(
                .upload, "upload of \(Double(cars.count).shown) cars written before", ours: connecting, floor: floors,
                unit: "rows/s", goal: .ratioAtLeast(0.90)),
        ]
    }

    private func insertFloor() async throws -> InsertFloor {
        let path = workbench.freshPath("cars")
        let store = try await workbench.openStore("cars", models: [Car.self], path: path)
        try await store.insert(cars, hasServer: false)
        let schema = store.schema
        await store.close()
        return try InsertFloor(store: path, schema: schema)
    }

    private func writeLive() async throws -> Double {
        try await workbench.withServer { url in
            let store = try await workbench.openStore("writer", models: [Car.self], url: url)
            try await store.connected(timeout: .seconds(30))
            let seconds = try await workbench.seconds { try await store.insert(cars) }
            await store.close()
            try await checkServer(url)
            return Double(cars.count) / seconds
        }
    }

    private func writeThenConnect() async throws -> Double {
        try await workbench.withServer { url in
            let path = workbench.freshPath("writer")
            try await writeOffline(path)
            let seconds = try await workbench.seconds {
                let store = try await workbench.openStore("writer", models: [Car.self], path: path, url: url)
                try await store.uploaded(timeout: .seconds(60))
                await store.close()
            }
            try await checkServer(url)
            return Double(cars.count) / seconds
        }
    }

    /// Fills an outbox as without a network: nobody listens at the port of the server.
    private func writeOffline(_ path: String) async throws {
        let store = try await workbench.openStore(
            "writer", models: [Car.self], path: path, url: "ws://127.0.0.1:1/bench")
        for start in stride(from: 0, to: cars.count, by: 2_000) {
            let part = cars[start..<min(start + 2_000, cars.count)]
            try await store.write { transaction in
                for car in part { try transaction.insert(car) }
            }
        }
        await store.close()
    }

    /// Checks what the server has, by syncing everything into another store.
    private func checkServer(_ url: String) async throws {
        let store = try await workbench.openStore("reader", models: [Car.self], url: url)
        let objects = store.objects(Car.self)
        try await store.core.synced(try objects.query(), timeout: .seconds(60)) {}
        try check(try objects.count(), is: cars.count, "the number of cars on the server")
        let sum = try objects.fetch().reduce(0) { $0 + $1.views }
        try check(sum, is: cars.reduce(0) { $0 + $1.views }, "the sum of views on the server")
        await store.close()
    }
}
