import Foundation
import Sluice
import SluiceServer

/// A live departure board: a server, a week of real flights, two clients that watch, and a replay of the delays and
/// departures of the day.
@main struct DepartureBoard {
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-demo-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let screen = Screen()
        let server = try SyncServer(
            ServerConfiguration(
                dataFolder: folder.appending(path: "server").path(), port: 0, isDevelopment: true))
        let port = try server.start()
        let url = "ws://127.0.0.1:\(port)/nyc"
        screen.say("A server with a fresh database listens at \(url).")
        screen.say("While this runs, a browser shows the database at http://127.0.0.1:\(port)/_/")

        let timetable = try Timetable()
        let operations = try await open(url, path: nil)
        let importTime = try await importWeek(timetable, into: operations)
        screen.say(
            "Imported \(timetable.departures.count) flights, \(timetable.airlines.count) airlines, "
                + "\(timetable.airports.count) airports and \(timetable.planes.count) planes in \(importTime.formatted(.units(allowed: [.seconds], width: .wide, fractionalPart: .show(length: 2))))."
        )

        let concourse = try await open(url, path: folder.appending(path: "concourse.sluice").path())
        let gate = try await open(url, path: folder.appending(path: "gate.sluice").path())
        var show = Show(screen: screen, operations: operations, concourse: concourse, gate: gate)
        try await show.run(timetable)

        for store in [operations, concourse, gate] { await store.close() }
        await server.stop()
        screen.say("The end: everything above crossed a real WebSocket between a real server and three real stores.")
    }

    private static func open(_ url: String, path: String?) async throws -> Store {
        let models: [any Model.Type] = [Flight.self, Airline.self, Airport.self, Plane.self]
        return try await Store.open(
            StoreConfiguration(path: path, models: models, sync: SyncConfiguration(url: url)))
    }

    private static func importWeek(_ timetable: Timetable, into store: Store) async throws -> Duration {
        let start = ContinuousClock.now
        try await store.write { transaction in
            for airline in timetable.airlines { try transaction.insert(airline) }
            for airport in timetable.airports { try transaction.insert(airport) }
            for plane in timetable.planes { try transaction.insert(plane) }
        }
        for batch in stride(from: 0, to: timetable.departures.count, by: 1_000) {
            let flights = timetable.departures[batch..<min(batch + 1_000, timetable.departures.count)]
            try await store.write { transaction in
                for departure in flights { try transaction.insert(departure.flight) }
            }
        }
        try await store.uploaded(timeout: .seconds(30))
        return ContinuousClock.now - start
    }
}
