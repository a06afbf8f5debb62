import Foundation
import Sluice

/// P1: what it costs to watch a bootstrap, in time and memory: by its progress, and by observing all of its rows.
struct WatchedBootstrapRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    private enum Watching: CaseIterable {
        case nobody, progress, observer
    }

    private struct Cost {
        var seconds = 0.0
        var megabytes = 0.0
    }

    func measure() async throws -> [Measurement] {
        let data = try FlightData()
        let flights = data.flights(workbench.options.size(336_776, quick: 12_000))
        return try await workbench.withServer { url in
            try await workbench.upload(flights, with: data, to: url)
            // Pages that the server has read before do not count for whoever comes first.
            _ = try await bootstrap(url, flights.count, .nobody)
            var costs: [Watching: [Cost]] = [:]
            _ = try await workbench.repeated { _ in
                for watching in Watching.allCases {
                    costs[watching, default: []].append(try await bootstrap(url, flights.count, watching))
                }
            }
            func line(_ name: String, _ watching: Watching, _ goal: Double) -> [Measurement] {
                let (ours, floor) = (costs[watching] ?? [], costs[.nobody] ?? [])
                return [
                    Measurement(
                        .watchedBootstrap, "\(name), time", ours: ours.map(\.seconds), floor: floor.map(\.seconds),
                        unit: "s", goal: .ratioAtMost(goal)),
                    Measurement(
                        .watchedBootstrap, "\(name), memory", ours: ours.map(\.megabytes),
                        floor: floor.map(\.megabytes), unit: "MB", goal: .ratioAtMost(goal)),
                ]
            }
            let count = Double(flights.count).shown
            return line("\(count) flights with a progress bar", .progress, 1.05)
                + line("\(count) flights, observed", .observer, 2)
        }
    }

    private func bootstrap(_ url: String, _ count: Int, _ watching: Watching) async throws -> Cost {
        let store = try await workbench.openStore("watched", models: FlightData.models, url: url)
        try await store.connected(timeout: .seconds(30))
        let flights = store.objects(Flight.self)
        let query = try flights.query()
        var cost = Cost()
        ProcessPeak.reset()
        let before = ProcessPeak.megabytes(.now)
        cost.seconds = try await workbench.seconds {
            switch watching {
            case .nobody: try await store.core.synced(query, timeout: .seconds(120)) {}
            case .progress:
                let drawn = Progress()
                try await store.core.synced(
                    query, timeout: .seconds(120), progress: { drawn.report(Int($0.estimate * 100)) }
                ) {}
            case .observer:
                let token = try flights.observe { change in _ = change.subscription.progress }
                try await store.core.synced(query, timeout: .seconds(120)) {}
                withExtendedLifetime(token) {}
            }
        }
        cost.megabytes = ProcessPeak.megabytes(.peak) - before
        try check(try flights.count(), is: count, "the flights")
        await store.close()
        return cost
    }
}

/// The memory of this process, from `/proc`.
enum ProcessPeak {
    enum Moment: String {
        case now = "VmRSS:"
        case peak = "VmHWM:"
    }

    /// Lets the peak begin with the memory of now.
    static func reset() { try? Data("5".utf8).write(to: URL(filePath: "/proc/self/clear_refs")) }

    static func megabytes(_ moment: Moment) -> Double {
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
        let line = status.split(separator: "\n").first { $0.hasPrefix(moment.rawValue) }
        let kilobytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) }
        return (kilobytes ?? 0) / 1_024
    }
}
