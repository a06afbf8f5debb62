internal import Synchronization

/// Whether a client still waits for the answer to its logins. It does until its connection has ended.
package final class LoginWait: Sendable {
    private let hasEnded = Atomic(false)

    package init() {}

    package var isOver: Bool { hasEnded.load(ordering: .relaxed) }

    /// Notes that the connection has ended. Any thread may call it.
    package func end() { hasEnded.store(true, ordering: .relaxed) }
}
