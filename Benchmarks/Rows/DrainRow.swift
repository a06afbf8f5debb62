import Foundation
import Sluice
import SluiceBackend
import SluiceServer

/// B6: many stores whose server is drained, stopped, and started again, as a deploy does. Each writes while it is served,
/// while it is told to go, and while there is no server. Measured is the time from the second start until the server has
/// all, without loss or double.
struct DrainRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func measure() async throws -> [Measurement] {
        let count = workbench.options.size(1_000, quick: 10)
        let times = try await workbench.repeated { _ in try await run(count) }
        return [
            Measurement(
                .drain, "from a server's second start until \(count) stores have uploaded what they wrote",
                ours: times.median, unit: "s", goal: .none, samples: ["ours": times])
        ]
    }

    private func server(_ folder: String, port: UInt16) throws -> SyncServer {
        var configuration = ServerConfiguration(dataFolder: folder, port: port, isDevelopment: true)
        // All connections come from this machine.
        configuration.quotas.connectionCountMaxPerAddress = nil
        configuration.quotas.sessionCountMaxPerUser = nil
        return try SyncServer(configuration)
    }

    private func run(_ count: Int) async throws -> Double {
        let folder = workbench.freshPath("server")
        let first = try server(folder, port: 0)
        let port = try first.start()
        var stores: [Store] = []
        for _ in 0..<count {
            stores.append(
                try await Store.open(
                    StoreConfiguration(
                        models: [Reading.self], sync: SyncConfiguration(url: "ws://127.0.0.1:\(port)/bench"))))
        }
        try await write(0, in: stores)
        for store in stores { try await store.uploaded(timeout: .seconds(120)) }
        first.drain()
        try await write(1, in: stores)
        await first.stop()
        try await write(2, in: stores)
        let second = try server(folder, port: port)
        let start = ContinuousClock.now
        try second.start()
        for store in stores { try await store.uploaded(timeout: .seconds(120)) }
        let time = (ContinuousClock.now - start) / .seconds(1)
        let database = try await second.database("bench", models: [Reading.self])
        var found = Set<Int>()
        for try await reading in database.objects(Reading.self).rows() { found.insert(reading.id) }
        try check(found.count, is: 3 * count, "the rows that the server has")
        for store in stores { await store.close() }
        await second.stop()
        return time
    }

    /// Has each store write a row of its own.
    private func write(_ step: Int, in stores: [Store]) async throws {
        for (number, store) in stores.enumerated() {
            let row = Reading(id: 3 * number + step, place: "store \(number)", value: Double(step))
            try await store.write { try $0.insert(row) }
        }
    }
}
