import Foundation
import Sluice

/// Counts the events of both boards.
final class Tally: @unchecked Sendable {
    // The lock guards all variables.
    private let lock = NSLock()
    private var localCount = 0
    private var remoteCount = 0
    private var gateCount = 0
    private var largest = 0
    private var gateDelays: [ObjectID: Int] = [:]

    func note(_ change: Change<Flight>) {
        lock.withLock {
            // The first event only says what was in the store.
            if change.remote != nil { remoteCount += 1 } else if !change.isInitial { localCount += 1 }
            largest = max(largest, change.results.count)
        }
    }

    func noteAtGate(_ change: Change<Flight>) {
        lock.withLock {
            gateCount += 1
            for flight in change.results { gateDelays[flight.objectID] = flight.delay }
        }
    }

    /// Waits until the gate's board shows a flight with 25 minutes of delay.
    func untilGateSaw(_ flight: ObjectID, timeout: Duration) async throws {
        let deadline = ContinuousClock.now + timeout
        while ContinuousClock.now < deadline, lock.withLock({ gateDelays[flight] }) != 25 {
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    var summary: String {
        lock.withLock {
            "The concourse was told of \(remoteCount) changes from the server and \(localCount) of its own, the gate of \(gateCount); "
                + "no board ever showed more than \(largest) flights."
        }
    }
}
