import SluiceBackend

/// A server with a backend in its process: it raises an alert for every departure that is an hour late, and a phone
/// shows the alerts. `swift run LateFlights`
@main struct LateFlights {
    static func main() async throws {
        let server = try SyncServer(ServerConfiguration(port: 0, isDevelopment: true))
        addPolicies(to: server)
        let port = try server.start()

        let airport = try await server.database("airport", models: [Departure.self, Alert.self])
        let backend = Task {
            for try await change in airport.objects(Departure.self).where({ $0.delay >= 60 }).changes {
                for departure in try change.insertions + change.modifications {
                    try await airport.write { try $0.upsert(Alert(departure: departure.id, delay: departure.delay)) }
                }
            }
        }

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
        backend.cancel()
        try await backend.value
        rejections.stop()
        await phone.close()
        await server.stop()
    }
}
