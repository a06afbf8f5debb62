import Sluice

/// R10: a client that comes back to a subscription of which nothing, or one object in a hundred, has changed.
struct ResumeRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func measure() async throws -> [Measurement] {
        let bytes = try await byteCounts()
        return try await bytes + [catchingUp()]
    }

    /// Every object has changed, so many that the server asks the client for its members.
    private func catchingUp() async throws -> Measurement {
        let count = workbench.options.size(100_000, quick: 25_000)
        let pairs = try await workbench.repeated { _ in
            try await workbench.withServer { url in
                let writer = try await workbench.openStore("writer", models: [Car.self], url: url)
                let cars = Car.numbered(0..<count)
                try await writer.insert(cars)
                let path = workbench.freshPath("reader")
                let anew = try await syncSeconds(path, url) { _ in }
                for start in stride(from: 0, to: count, by: 2_000) {
                    try await writer.write { transaction in
                        for car in cars[start..<min(start + 2_000, count)] {
                            try transaction.update(car) { $0.views = -1 }
                        }
                    }
                }
                try await writer.uploaded(timeout: .seconds(60))
                await writer.close()
                let again = try await syncSeconds(path, url) { store in
                    let changed = try store.objects(Car.self).fetch().count { $0.views == -1 }
                    try check(changed, is: count, "the cars that changed")
                }
                return (again, anew)
            }
        }
        return Measurement(
            .resume, "catching up \(Double(count).shown) changed cars, beside their bootstrap", ours: pairs.map(\.0),
            floor: pairs.map(\.1), unit: "s", goal: .ratioAtMost(1.3))
    }

    /// How long it takes until a subscription is complete, once the store is connected.
    private func syncSeconds(_ path: String, _ url: String, verify: (Store) throws -> Void) async throws -> Double {
        let store = try await workbench.openStore("reader", models: [Car.self], path: path, url: url)
        try await store.connected(timeout: .seconds(30))
        let query = try store.objects(Car.self).query()
        let seconds = try await workbench.seconds {
            try await store.core.synced(query, timeout: .seconds(60)) {}
        }
        try verify(store)
        await store.close()
        return seconds
    }

    private func byteCounts() async throws -> [Measurement] {
        let count = workbench.options.size(10_000, quick: 1_000)
        return try await workbench.withServer { url in
            let writer = try await workbench.openStore("writer", models: [Car.self], url: url)
            let cars = Car.numbered(0..<count)
            try await writer.insert(cars)
            let parts = url.split(separator: ":")
            let proxy = try CountingProxy(to: UInt16(parts[2].split(separator: "/")[0]) ?? 0)
            defer { proxy.stop() }
            let path = workbench.freshPath("reader")
            let whole = try await sync(path, proxy)
            let same = try await sync(path, proxy)
            try await writer.write { transaction in
                for number in stride(from: 0, to: count, by: 100) {
                    try transaction.update(cars[number]) { $0.price += 1 }
                }
            }
            try await writer.uploaded(timeout: .seconds(60))
            let changed = try await sync(path, proxy) { store in
                let sum = try store.objects(Car.self).fetch().reduce(0) { $0 + $1.price }
                let expected = cars.enumerated().reduce(0) { $0 + $1.element.price + ($1.offset % 100 == 0 ? 1 : 0) }
                try check(abs(sum - expected) < 0.01, is: true, "the prices after resuming")
            }
            await writer.close()
            let name = "resuming \(Double(count).shown) cars"
            return [
                Measurement(
                    .resume, "\(name), none changed, to the server", ours: Double(same.toServer), unit: "bytes",
                    goal: .atMost(200)),
                Measurement(
                    .resume, "\(name), none changed, to the client", ours: Double(same.toClient), unit: "bytes",
                    goal: .atMost(200)),
                Measurement(
                    .resume, "\(name), 1 % changed, beside the bootstrap",
                    ours: Double(changed.toClient), floor: Double(whole.toClient), unit: "bytes",
                    goal: .ratioAtMost(0.006)),
            ]
        }
    }

    /// Opens a store, waits until the subscription is complete, and closes the store.
    ///
    /// - Returns: the bytes that this took.
    private func sync(
        _ path: String, _ proxy: CountingProxy, verify: (Store) throws -> Void = { _ in }
    ) async throws -> CountingProxy.Count {
        _ = proxy.takeCount()
        let store = try await workbench.openStore(
            "reader", models: [Car.self], path: path, url: "ws://127.0.0.1:\(proxy.port)/bench")
        let query = try store.objects(Car.self).query()
        try await store.core.synced(query, timeout: .seconds(60)) {}
        let count = proxy.takeCount()
        try verify(store)
        await store.close()
        return count
    }
}
