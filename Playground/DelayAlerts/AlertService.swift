import Foundation
import Sluice

/// Keeps an alert for every departure that is an hour late. Of several instances one works, and the others stand by.
struct AlertService {
    let store: Store

    /// Runs until the task is cancelled.
    func run() async throws {
        let late = store.objects(Departure.self).where { $0.delay >= 60 }
        var options = Consumer<Departure>.Options()
        options.onNameHeld = .standBy
        try await store.consumer("alerts", of: late, options: options).run { [store] batch in
            if batch.isReset { try await store.delete(all: store.objects(Alert.self)) }
            try await batch.commit { transaction in
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
