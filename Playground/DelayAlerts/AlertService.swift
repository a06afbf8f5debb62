import Foundation
import Sluice

/// Keeps an alert for every departure that is an hour late.
struct AlertService {
    let store: Store

    /// Runs until the task is cancelled.
    func run() async throws {
        let late = store.objects(Departure.self).where { $0.delay >= 60 }
        try await store.consumer("alerts", of: late).run { [store] batch in
            // What is to be removed has to be in the store.
            if batch.isReset { _ = try await store.objects(Alert.self).synced() }
            try await batch.commit { transaction in
                if batch.isReset { try transaction.delete(all: transaction.objects(Alert.self)) }
                for item in batch.upserts {
                    let departure = item.value
                    try transaction.upsert(
                        Alert(
                            departure: departure.id,
                            text: "\(departure.flight) is \(departure.delay ?? 0) minutes late", raisedAt: Date()))
                }
                for gone in batch.removals { try transaction.delete(Alert.self, key: gone.key) }
            }
        }
    }
}
