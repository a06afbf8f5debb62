internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceWire

/// Who subscribes to what: the subscriptions of each session.
final class Subscriptions {
    private let database: Database
    private var subscribers: [SessionID: Subscriber] = [:]
    /// How often a subscription was refused because of its user's quota.
    private(set) var quotaRefusalCount: UInt64 = 0
    /// The sessions of each user, where users have a quota of subscriptions.
    private var sessionsByHolder: [Holder: Set<SessionID>] = [:]

    init(_ database: Database) { self.database = database }

    subscript(session: SessionID) -> Subscriber? { subscribers[session] }

    /// The number of all subscriptions.
    var count: Int { subscribers.values.reduce(0) { $0 + $1.subscriptions.count } }

    /// The number of subscriptions of each session.
    var countsBySession: [SessionID: SubscriptionCounts] {
        subscribers.mapValues { subscriber in
            var counts = SubscriptionCounts()
            for subscription in subscriber.subscriptions.all {
                counts.all += 1
                if !subscription.isComplete { counts.incomplete += 1 }
            }
            return counts
        }
    }

    /// Lets a session subscribe.
    ///
    /// - Parameter features: what both sides of its connection know.
    func open(_ session: SessionID, holder: Holder, access: AccessBinding, features: Features) {
        subscribers[session] = Subscriber(
            session, holder: holder, access: access, features: features,
            pageCredit: database.limits.server.pageCreditMax)
        sessionsByHolder[holder, default: []].insert(session)
    }

    /// Removes a session.
    ///
    /// - Returns: the subscriptions that it had.
    func close(_ session: SessionID) -> [ViewSubscription] {
        guard let subscriber = subscribers.removeValue(forKey: session) else { return [] }
        let holder = subscriber.holder
        if sessionsByHolder[holder]?.remove(session) != nil, sessionsByHolder[holder]?.isEmpty == true {
            sessionsByHolder[holder] = nil
        }
        // The subscriptions refer to their subscriber.
        defer { subscriber.subscriptions.removeAll() }
        return Array(subscriber.subscriptions.all)
    }

    /// Whether a subscriber is still the one of its session.
    func has(_ subscriber: Subscriber) -> Bool { subscribers[subscriber.session] === subscriber }

    /// Forgets all subscriptions. Their sessions are about to end.
    func forgetAll() { for subscriber in subscribers.values { subscriber.subscriptions.removeAll() } }

    /// How many subscriptions the user of a session has.
    private func count(ofUserOf subscriber: Subscriber) -> Int {
        (sessionsByHolder[subscriber.holder] ?? []).reduce(0) { $0 + (subscribers[$1]?.subscriptions.count ?? 0) }
    }

    /// Reads a request for a subscription.
    ///
    /// - Parameters:
    ///   - waitingCount: how many of the session's subscriptions have not started yet.
    ///   - userWaitingCount: how many of all sessions of its user have not.
    /// - Throws: ``SessionEnd``, or ``RequestRejection`` where only the request is at fault.
    func query(
        of request: ClientMessage.Subscribe, by subscriber: Subscriber, waitingCount: Int,
        userWaitingCount: @autoclosure () -> Int
    ) throws -> Query {
        guard request.subscription > subscriber.lastSubscription else {
            let message =
                "subscription \(request.subscription) cannot be made: numbers ascend, and the next one is above "
                + "\(subscriber.lastSubscription)"
            throw SessionEnd(.protocolViolation, message, action: .retry)
        }
        subscriber.lastSubscription = request.subscription
        let countMax = database.limits.server.subscriptionCountMax
        guard subscriber.subscriptions.count + waitingCount < countMax else {
            throw RequestRejection(code: .limitExceeded, message: "a session has at most \(countMax) subscriptions")
        }
        if let countMax = database.limits.userSubscriptionCountMax,
            count(ofUserOf: subscriber) + userWaitingCount() >= countMax
        {
            quotaRefusalCount += 1
            throw RequestRejection(
                code: .limitExceeded, message: "this user has \(countMax) subscriptions in this database, its quota")
        }
        let query: Query
        do { query = try Query.parse(request.query, schema: database.storage.schema) } catch {
            throw RequestRejection(error)
        }
        guard subscriber.features.contains(.aggregates) || !query.hasTotal && query.aggregates == nil else {
            throw RequestRejection(
                code: .invalidQuery,
                message: "a client may ask for TOTAL and AGGREGATE if it has named the feature aggregates in hello")
        }
        do { return try subscriber.access.query(query) } catch { throw RequestRejection(error) }
    }
}
