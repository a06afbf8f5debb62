#if PostgreSQL

internal import Synchronization

/// Hears that users have changed: by bells, and by a count of the changes, since a bell may be lost. The watch drives it.
final class UserNews: Sendable {
    /// What the payload of a bell begins with; the count of changes follows.
    static let kind = "users"

    private struct State {
        var didChange: (@Sendable () -> Void)?
        /// The changes that this node knows of; nil if some may have been missed.
        var count: Int64?
    }

    private let state = Mutex(State())

    /// - Parameter didChange: called by the watch's thread.
    func begin(_ didChange: @escaping @Sendable () -> Void) { state.withLock { $0.didChange = didChange } }

    func end() { state.withLock { $0.didChange = nil } }

    /// Notes that what came before was not heard.
    func noteGap() { state.withLock { $0.count = nil } }

    /// Heeds the rest of a bell's payload.
    func heed(_ payload: Substring) {
        if let count = Int64(payload) { note(count) }
    }

    /// Asks for the count of changes.
    func ask(_ connection: PostgresConnection) throws(PostgresFailure) {
        guard state.withLock({ $0.didChange != nil }) else { return }
        note(try connection.execute(UserStatements.changes).integer(0))
    }

    private func note(_ count: Int64) {
        let didChange = state.withLock { state in
            guard state.count.map({ $0 < count }) ?? true else { return nil as (@Sendable () -> Void)? }
            state.count = count
            return state.didChange
        }
        didChange?()
    }
}

#endif
