import Foundation
import Sluice

/// Raises an alert for every departure that is an hour late.
struct AlertService {
    let store: Store

    /// Runs until the task is cancelled.
    func run() async throws {
        let late = store.objects(Departure.self).where { $0.delay >= 60 }
        for try await change in late.changes {
            for index in change.insertions { try await raise(change.results[index]) }
        }
    }

    private func raise(_ departure: Departure) async throws {
        try await store.write { transaction in
            // An alert that an earlier run raised stays as it is.
            guard try transaction.object(Alert.self, key: departure.id) == nil else { return }
            try transaction.insert(
                Alert(
                    departure: departure.id, text: "\(departure.flight) is \(departure.delay ?? 0) minutes late",
                    raisedAt: Date()))
        }
    }
}
