import Foundation
import SluiceBackend

/// A server with a backend in its process: it raises an alert for every departure that is an hour late, and a phone
/// shows the alerts. `swift run LateFlights [FOLDER]`, which keeps the databases in a folder if one is given.
@main struct LateFlights {
    static func main() async {
        do { try await run() } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    private static func run() async throws {
        var configuration = ServerConfiguration(port: 0, isDevelopment: true)
        configuration.dataFolder = CommandLine.arguments.dropFirst().first
        let server = try SyncServer(configuration)
        addPolicies(to: server)
        let port = try server.start()

        let airport = try await server.database("airport", models: [Departure.self, Alert.self])
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await raiseAlerts(in: airport) }
            group.addTask { try await showAlerts(of: airport, port: port) }
            // The first to end ends the other: the phone in order, the backend with its reason.
            try await group.next()
            group.cancelAll()
        }
        await server.stop()
    }

    /// Raises an alert for every departure that is an hour late, until the task is cancelled.
    private static func raiseAlerts(in airport: ServerDatabase) async throws {
        for try await change in airport.objects(Departure.self).where({ $0.delay >= 60 }).changes {
            for departure in try change.insertions + change.modifications {
                try await airport.write { try $0.upsert(Alert(departure: departure.id, delay: departure.delay)) }
            }
        }
    }

    /// Writes departures, and shows the first alerts and what has become of the departures.
    private static func showAlerts(of airport: ServerDatabase, port: UInt16) async throws {
        let phone = try await Store.open(
            StoreConfiguration(
                models: [Departure.self, Alert.self], sync: SyncConfiguration(url: "ws://127.0.0.1:\(port)/airport")))
        let rejections = phone.onWriteRejected { print("rejected:", $0.reason) }
        try await phone.write { transaction in
            try transaction.insert(Departure(id: "1", flight: "UA 1", delay: 75))
            try transaction.insert(Departure(id: "2", flight: "UA 2", delay: -5))
        }
        try await phone.write { try $0.insert(Departure(id: "3", flight: "UA 3", delay: 5_000)) }

        for try await change in phone.objects(Alert.self).changes where !change.insertions.isEmpty {
            for alert in change.results {
                print("departure \(alert.departure) is \(alert.delay) minutes late, says", change.remote?.userID ?? "?")
            }
            break
        }
        try await phone.uploaded()
        for departure in try await airport.objects(Departure.self).sorted(by: \.id).fetch() {
            print("\(departure.flight): \(departure.delay) minutes")
        }
        rejections.stop()
        await phone.close()
    }
}
