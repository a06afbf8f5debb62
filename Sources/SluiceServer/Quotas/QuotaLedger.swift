internal import SluiceModel
internal import Synchronization

/// Counts what users and addresses take of a server, against their quotas.
package final class QuotaLedger: Sendable {
    /// Something that counts until nobody keeps it any more.
    package final class Slot: Sendable {
        private let giveBack: @Sendable () -> Void

        fileprivate init(giveBack: @escaping @Sendable () -> Void) { self.giveBack = giveBack }

        deinit { giveBack() }
    }

    private struct Counts {
        var connections: [String: Int] = [:]
        var sessions: [Holder: Int] = [:]
        /// When what each holder has uploaded is paid for; only of those who are not done yet.
        var paidAt: [Holder: Int64] = [:]
        /// When the paid ones were last forgotten.
        var sweptAt: Int64 = .min
    }

    private let current: Mutex<Quotas>
    private let counts = Mutex(Counts())

    package init(_ quotas: Quotas) { current = Mutex(quotas) }

    /// The quotas that hold. Who has more than a new one allows keeps it.
    package var quotas: Quotas {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    // MARK: Connections and sessions

    /// Counts a connection.
    ///
    /// - Returns: nil if its address has as many as it may.
    package func connect(from address: String) -> Slot? {
        take(\.connections, address, atMost: quotas.connectionCountMaxPerAddress)
    }

    /// Counts a session.
    ///
    /// - Returns: nil if its user has as many as it may.
    package func open(by holder: Holder) -> Slot? { take(\.sessions, holder, atMost: quotas.sessionCountMaxPerUser) }

    private func take<Key: Hashable & Sendable>(
        _ path: any WritableKeyPath<Counts, [Key: Int]> & Sendable, _ key: Key, atMost countMax: Int?
    ) -> Slot? {
        let isTaken = counts.withLock { counts in
            let count = counts[keyPath: path][key] ?? 0
            if let countMax, count >= countMax { return false }
            counts[keyPath: path][key] = count + 1
            return true
        }
        guard isTaken else { return nil }
        return Slot { [weak self] in
            self?.counts.withLock { counts in
                let count = (counts[keyPath: path][key] ?? 1) - 1
                counts[keyPath: path][key] = count == 0 ? nil : count
            }
        }
    }

    /// How many connections and sessions are counted now: none when everybody has left.
    package var heldCounts: (connections: Int, sessions: Int) {
        counts.withLock { counts in
            (counts.connections.values.reduce(0, +), counts.sessions.values.reduce(0, +))
        }
    }

    // MARK: Uploads

    /// Charges uploaded operations.
    ///
    /// - Returns: how long the sender is to wait before it is read again, in microseconds; 0 if it need not.
    package func charge(_ operationCount: Int, to holder: Holder, now: Timestamp) -> Int64 {
        guard let rate = quotas.operationRateMaxPerUser, operationCount > 0 else { return 0 }
        let time = now.microseconds
        return counts.withLock { counts in
            if time - Self.second >= counts.sweptAt {
                counts.paidAt = counts.paidAt.filter { $0.value > time }
                counts.sweptAt = time
            }
            // A clock that goes back must not make anybody wait for the difference.
            let price = Int64(operationCount) * Self.second / Int64(rate)
            let start = min(max(counts.paidAt[holder] ?? time, time), time + Self.waitMax)
            counts.paidAt[holder] = start + price
            // What a second allows may come at once.
            return min(max(0, start + price - time - Self.second), Self.waitMax)
        }
    }

    private static let second: Int64 = 1_000_000
    /// The longest wait for one charge. A transaction that is larger is paid for by those after it.
    private static let waitMax: Int64 = 60 * second

    // MARK: Downloads

    /// Whether there is a quota on what waits to be sent.
    package var limitsQueues: Bool { quotas.queueByteCountMaxPerUser != nil }

    /// How many bytes may wait for one of a user's sessions; nil if there is no quota.
    package func queueByteCountMax(of holder: Holder) -> Int? {
        quotas.queueByteCountMaxPerUser.map { $0 / max(1, counts.withLock { $0.sessions[holder] ?? 1 }) }
    }

    // MARK: Refusals

    package var connectionRefusal: String {
        "this address has \(quotas.connectionCountMaxPerAddress ?? 0) connections, its quota; close some and try again"
    }

    package var sessionRefusal: String {
        "this user has \(quotas.sessionCountMaxPerUser ?? 0) open sessions, its quota; close some and try again"
    }
}
