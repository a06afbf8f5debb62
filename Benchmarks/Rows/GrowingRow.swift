import Sluice
import SluiceObservation

/// C4: the bytes on the wire of a list that grows from 20 to 1,000 rows, at once and as one that is scrolled, beside a first
/// list of 1,000; and of a page behind a cursor, beside the first page. What the server sends counts.
struct GrowingRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func measure() async throws -> [Measurement] { try await grown() + [scrolled()] }

    private func grown() async throws -> [Measurement] {
        let count = workbench.options.size(100_000, quick: 3_000)
        return try await workbench.withServer { url in
            let source = try await workbench.openStore("source", models: [Reading.self], url: url)
            try await source.insert(Reading.numbered(0..<count))
            await source.close()
            let parts = url.split(separator: ":")
            let proxy = try CountingProxy(to: UInt16(parts[2].split(separator: "/")[0]) ?? 0)
            defer { proxy.stop() }
            let address = "ws://127.0.0.1:\(proxy.port)/bench"
            let first = try await workbench.openStore("first", models: [Reading.self], url: address)
            try await first.connected(timeout: .seconds(30))
            var tokens: [NotificationToken] = []
            let whole = try await bytes(of: Self.sorted(first).limit(1_000), 1_000, proxy, &tokens)
            await first.close()

            let store = try await workbench.openStore("list", models: [Reading.self], url: address)
            try await store.connected(timeout: .seconds(30))
            let list = Self.sorted(store).limit(20)
            let page = try await bytes(of: list, 20, proxy, &tokens)
            let longer = try list.growing(by: 980) ?? list
            let growth = try await bytes(of: longer, 1_000, proxy, &tokens)
            let last = try longer.snapshot()
            let next = Self.sorted(store).limit(20).after(last.cursor(at: last.count - 1))
            let behind = try await bytes(of: next, 20, proxy, &tokens)
            await store.close()
            return [
                Measurement(
                    .growing, "from 20 to 1,000 of \(Double(count).shown) rows, beside 1,000 at once",
                    ours: Double(growth), floor: Double(whole), unit: "bytes", goal: .ratioAtMost(1)),
                Measurement(
                    .growing, "20 rows behind a cursor, beside the first 20", ours: Double(behind),
                    floor: Double(page), unit: "bytes", goal: .ratioAtMost(1.1)),
            ]
        }
    }

    /// 1,000 flights with what they link to, by 20 at a time.
    private func scrolled() async throws -> Measurement {
        let data = try FlightData()
        let flights = data.flights(workbench.options.size(30_000, quick: 6_000))
        return try await workbench.withServer { url in
            try await workbench.upload(flights, with: data, to: url)
            let parts = url.split(separator: ":")
            let proxy = try CountingProxy(to: UInt16(parts[2].split(separator: "/")[0]) ?? 0)
            defer { proxy.stop() }
            let address = "ws://127.0.0.1:\(proxy.port)/bench"
            let first = try await workbench.openStore("first", models: FlightData.models, url: address)
            try await first.connected(timeout: .seconds(30))
            _ = proxy.takeCount()
            try check(try await Self.late(first).limit(1_000).synced().count, is: 1_000, "the rows")
            let whole = proxy.takeCount().toClient
            await first.close()
            let store = try await workbench.openStore("steps", models: FlightData.models, url: address)
            try await store.connected(timeout: .seconds(30))
            _ = proxy.takeCount()
            try await Self.scroll(Self.late(store).limit(20))
            let steps = proxy.takeCount().toClient
            await store.close()
            return Measurement(
                .growing, "20 flights and then to 1,000 by 20 at a time, beside 1,000 at once", ours: Double(steps),
                floor: Double(whole), unit: "bytes", goal: .ratioAtMost(1.2))
        }
    }

    private static func late(_ store: Store) -> Results<Flight> {
        store.objects(Flight.self).sorted(by: \.departureDelay, ascending: false)
    }

    /// Shows 20 more until there are 1,000, each when the ones before are there.
    @MainActor private static func scroll(_ results: Results<Flight>) async throws {
        let list = try LiveResults(results)
        for count in stride(from: 20, through: 1_000, by: 20) {
            if count > 20 { try list.loadMore(20) }
            while list.count < count || list.status.state != .complete { try await Task.sleep(for: .milliseconds(1)) }
        }
        list.stop()
    }

    private static func sorted(_ store: Store) -> Results<Reading> {
        store.objects(Reading.self).sorted(by: \.value).sorted(by: \.place)
    }

    /// Observes results.
    ///
    /// - Returns: the bytes that the server sends until the results are complete.
    private func bytes(
        of results: Results<Reading>, _ count: Int, _ proxy: CountingProxy, _ tokens: inout [NotificationToken]
    ) async throws -> Int {
        _ = proxy.takeCount()
        tokens.append(try results.observe { _ in })
        try check(try await results.synced(timeout: .seconds(60)).count, is: count, "the rows")
        return proxy.takeCount().toClient
    }
}
