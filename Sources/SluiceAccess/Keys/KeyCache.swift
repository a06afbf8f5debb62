package import SluiceModel

/// Decides when an issuer's keys are fetched and how long they hold. It has no clock and fetches nothing.
///
/// Keys hold for ten minutes. Then, and for a token whose key is not among them, they are fetched again: at most every
/// 30 s, so that strangers with made-up key names cause no storm. While the issuer does not answer, the last keys hold
/// on, up to 24 hours after they were fetched.
package struct KeyCache: Sendable {
    /// In microseconds.
    package static let freshTime: Int64 = 600_000_000
    package static let retryTime: Int64 = 30_000_000
    package static let outageTime: Int64 = 86_400_000_000

    package enum Answer: Sendable {
        case key(VerificationKey)
        /// The issuer has no such key.
        case unknown
        /// There are no keys, and the issuer was asked a moment ago.
        case unavailable
        /// Ask again once the fetch that is under way has ended.
        case wait
        /// Fetch the keys, report ``fetched(_:now:)``, and ask again.
        case fetch
    }

    private var keys: KeySet?
    private var fetchedAt = Timestamp(microseconds: .min)
    private var attemptedAt: Timestamp?
    private var isFetching = false

    package init() {}

    /// The key of a token.
    package mutating func key(of token: SignedToken, now: Timestamp) -> Answer {
        let age = now.microseconds.subtractingReportingOverflow(fetchedAt.microseconds)
        let isUsable = keys != nil && !age.overflow && age.partialValue < Self.outageTime
        let known = isUsable ? keys?.key(of: token) : nil
        if let known, age.partialValue < Self.freshTime { return .key(known) }
        if isFetching { return .wait }
        if mayFetch(now) {
            isFetching = true
            attemptedAt = now
            return .fetch
        }
        if let known { return .key(known) }
        return isUsable ? .unknown : .unavailable
    }

    /// Records what a fetch came to: the keys, or nil.
    package mutating func fetched(_ result: KeySet?, now: Timestamp) {
        isFetching = false
        guard let result else { return }
        keys = result
        fetchedAt = now
    }

    private func mayFetch(_ now: Timestamp) -> Bool {
        guard let attemptedAt else { return true }
        // A clock that was set back must not keep the keys from being fetched.
        return now < attemptedAt || now.microseconds - attemptedAt.microseconds >= Self.retryTime
    }
}
