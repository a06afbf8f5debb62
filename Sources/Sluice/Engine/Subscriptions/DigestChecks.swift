internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// Compares subscriptions with the server's digests. One that differs is fetched anew.
final class DigestChecks {
    private let storage: SQLiteClientStorage
    private let requests: SubscriptionRequests
    private let digests: SubscriptionDigests
    private let active: ActiveSubscriptions
    private let log: LogSink?
    /// How many times a subscription was compared with the server's digest.
    private(set) var count = 0
    /// How many times a subscription differed from the server's digest and was fetched anew.
    private(set) var mismatchCount = 0
    /// Called when a subscription differs from the server's digest.
    var onMismatch: (() -> Void)?

    init(
        _ storage: SQLiteClientStorage, _ requests: SubscriptionRequests, _ digests: SubscriptionDigests,
        _ active: ActiveSubscriptions, log: LogSink?
    ) {
        self.storage = storage
        self.requests = requests
        self.digests = digests
        self.active = active
        self.log = log
    }

    /// Compares subscriptions that have just become complete with the server's digests.
    func check(_ content: [ServerContent]) throws {
        for case .complete(let complete) in content where storage.syncState?.version == complete.version {
            guard let expected = complete.digest else { continue }
            try compare(complete.subscription, with: expected, at: complete.version)
        }
    }

    /// Compares a subscription of the running session with the server's digest.
    ///
    /// The versions need not be equal, since the server has already sent all changes of the subscription up to the
    /// digest.
    func check(_ check: ServerMessage.DigestCheck) throws {
        guard !active.awaitsCatchUp else { return }
        try compare(check.subscription, with: check.digest, at: check.version)
    }

    private func compare(_ number: UInt64, with expected: ObjectID, at version: UInt64) throws {
        guard let subscription = requests.subscription(number), subscription.wireID == number, subscription.isComplete,
            !subscription.record.hasHoles, let actual = try digests.digest(of: subscription)
        else { return }
        count += 1
        guard actual != expected else { return }
        mismatchCount += 1
        onMismatch?()
        log?(
            .warning, "a subscription differs from the server's and is fetched anew",
            [("query", subscription.query.hash.description), ("version", "\(version)")])
        try requests.requestAnew(subscription)
    }
}
