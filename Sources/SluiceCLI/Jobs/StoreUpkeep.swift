internal import Sluice

/// Removes what jobs have written from the memory of a store, while nobody needs what it has.
actor StoreUpkeep {
    private let store: Store
    /// Who has brought objects into the store and has not written yet.
    private var users: Set<String> = []
    private var isDue = false
    private var writtenCount = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []
    /// How many operations are written before the store is emptied.
    private static let writtenCountMax = 1_000

    init(_ store: Store) { self.store = store }

    /// Keeps what is in the store until ``end(_:)`` of the same user.
    func begin(_ user: String) async {
        while isDue { await withCheckedContinuation { waiting.append($0) } }
        users.insert(user)
    }

    /// Counts what a user has written.
    func note(_ count: Int) { writtenCount += count }

    /// Lets go of the store, whether or not it was begun to be used.
    func end(_ user: String) async {
        users.remove(user)
        isDue = isDue || writtenCount >= Self.writtenCountMax
        guard isDue, users.isEmpty else { return }
        writtenCount = 0
        // What cannot be removed now is the next time.
        _ = try? await store.purgeUnsubscribed()
        isDue = false
        let released = waiting
        waiting = []
        for continuation in released { continuation.resume() }
    }
}
