import Foundation
import Sluice

/// Three servers share a database in PostgreSQL; one of them is killed while three writers write through all of them.
/// `ThreeNodes SLUICE JOURNAL-URL FOLDER FLIGHTS.csv`; `make demo-cluster` runs it beside a PostgreSQL of its own.
@main struct ThreeNodes {
    static func main() async {
        do { try await run() } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    private static func run() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count == 4 else {
            throw DemoError("usage: ThreeNodes SLUICE JOURNAL-URL FOLDER FLIGHTS.csv")
        }
        let plan = Node.Plan(program: arguments[0], journal: arguments[1], folder: arguments[2])
        let departures = try Timetable.departures(in: arguments[3])
        let nodes = try ["a", "b", "c"].map { try Node($0, plan) }
        defer { for node in nodes { node.kill() } }
        say("Three nodes share the database 'departures': \(nodes.map(\.url).joined(separator: ", "))")

        // A store of each node, which goes to the others if its own is gone.
        let urls = nodes.map(\.url)
        var stores: [Store] = []
        for position in nodes.indices {
            let mine = Array(urls[position...] + urls[..<position])
            stores.append(try await Store.open(Self.configuration(urls: mine)))
        }
        try await prepare(stores[0], departures)
        let watchers = stores.map { Watcher($0) }
        try await synced(stores)

        say("Three writers write \(departures.count) real departures, each in a transaction that counts it.")
        let progress = Progress(total: departures.count)
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (position, store) in stores.enumerated() {
                let part = departures.indices.filter { $0 % stores.count == position }.map { departures[$0] }
                group.addTask { try await write(part, to: store, progress) }
            }
            await progress.reached(departures.count / 3)
            say("A third is written. kill -9 of node b.")
            nodes[1].kill()
            await progress.reached(departures.count * 2 / 3)
            say("Two thirds are written. Node b starts again, with the replica that it had.")
            try nodes[1].start()
            try await group.waitForAll()
        }
        let time = ContinuousClock.now - start
        for store in stores { try await store.uploaded(timeout: .seconds(60)) }
        let longest = seconds(progress.longest)
        say("All is written in \(seconds(time)) s; the longest that a writer waited was \(longest) s.")

        for watcher in watchers { try await watcher.waits(for: departures.count) }
        // A store without a past, at the node that was killed.
        let late = try await Store.open(configuration(urls: [nodes[1].url]))
        stores.append(late)
        try await synced([late])
        for (store, place) in zip(stores, ["a", "b", "c", "b, opened now"]) {
            try check(store, departures, place)
        }
        try plan.status()
        for watcher in watchers { watcher.stop() }
        for store in stores { await store.close() }
        for node in nodes { node.stop() }
        say("Nothing is lost, and nothing counts twice.")
    }

    private static func configuration(urls: [String]) -> StoreConfiguration {
        StoreConfiguration(models: [Departure.self, Airport.self], sync: SyncConfiguration(urls: urls))
    }

    /// Makes the airports, so that writers only add to them.
    private static func prepare(_ store: Store, _ departures: [Departure]) async throws {
        try await store.write { transaction in
            for code in Set(departures.map(\.origin)).sorted() { try transaction.insert(Airport(code: code)) }
        }
        try await store.uploaded(timeout: .seconds(30))
    }

    private static func synced(_ stores: [Store]) async throws {
        for store in stores {
            _ = try await store.objects(Departure.self).synced(timeout: .seconds(60))
            _ = try await store.objects(Airport.self).synced(timeout: .seconds(60))
        }
    }

    /// Writes departures one by one, each once the one before is safe on the server.
    private static func write(_ departures: [Departure], to store: Store, _ progress: Progress) async throws {
        for departure in departures {
            let start = ContinuousClock.now
            try await store.write { transaction in
                try transaction.insert(departure)
                try transaction.increment(Airport(code: departure.origin), \.departures, by: 1)
            }
            try await store.uploaded(timeout: .seconds(60))
            progress.note(ContinuousClock.now - start)
        }
    }

    private static func check(_ store: Store, _ departures: [Departure], _ place: String) throws {
        let found = try store.objects(Departure.self).fetch()
        let counted = try store.objects(Airport.self).fetch().sorted { $0.code < $1.code }
        let expected = Dictionary(grouping: departures, by: \.origin).mapValues(\.count)
        let text = counted.map { "\($0.code) \($0.departures)" }.joined(separator: ", ")
        say("Node \(place): \(found.count) departures; \(text)")
        guard Set(found.map(\.id)) == Set(departures.map(\.id)), counted.count == expected.count,
            counted.allSatisfy({ expected[$0.code] == $0.departures })
        else { throw DemoError("node \(place) has something else than was written") }
    }

    private static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

    private static func seconds(_ duration: Duration) -> String {
        duration.formatted(.units(allowed: [.seconds], width: .narrow, fractionalPart: .show(length: 1)))
            .filter { $0.isNumber || $0 == "." }
    }
}
