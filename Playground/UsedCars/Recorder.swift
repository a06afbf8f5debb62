import Foundation
import Sluice

/// Records the events of an observer, so that the demo can wait for them.
final class Recorder: @unchecked Sendable {
    // The lock guards all variables.
    private let lock = NSLock()
    private var remotes: [Remote] = []
    private var largest = 0

    func note<Element>(_ change: Change<Element>) {
        lock.withLock {
            largest = max(largest, change.results.count)
            if let remote = change.remote, !change.modifications.isEmpty { remotes.append(remote) }
        }
    }

    var largestCount: Int { lock.withLock { largest } }

    func firstRemoteModification(timeout: Duration) async -> Remote? {
        await waitFor(timeout: timeout) { self.lock.withLock { !self.remotes.isEmpty } }
        return lock.withLock { remotes.first }
    }

    func waitFor(timeout: Duration, _ condition: () -> Bool) async {
        let deadline = ContinuousClock.now + timeout
        while ContinuousClock.now < deadline, !condition() { try? await Task.sleep(for: .milliseconds(10)) }
    }
}
