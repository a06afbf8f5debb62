internal import SluiceModel

/// What one database is and has done, as its queue says it between two turns.
struct DatabaseSample: Sendable {
    var isOpen = false
    var sessionCount = 0
    var subscriptionCount = 0
    /// How many live views commits may have to be followed by.
    var viewCount = 0
    /// How many versions the log of transactions reaches back.
    var logVersionCount: UInt64 = 0
    /// How many consumers there are, and how many versions the one that is farthest behind has not looked at.
    var consumerCount = 0
    var consumerLag: UInt64 = 0
    /// How many objects consumers and queues have given up.
    var deadLetterCount = 0
    /// What the worker's databases have done: the open one, and those that were closed before.
    var statistics = DatabaseStatistics()
    /// From the arrival of the oldest message of a turn that has committed something to when the events were with their
    /// connections.
    var eventLag = DurationHistogram()

    init() {}

    init(_ engine: DatabaseEngine) {
        isOpen = true
        let facts = engine.facts
        sessionCount = facts.sessionCount
        subscriptionCount = facts.subscriptionCount
        viewCount = facts.views.count
        logVersionCount = engine.logVersionCount
        statistics = facts.statistics
        (consumerCount, consumerLag) = engine.consumerLag
        deadLetterCount = engine.deadLetterCount
    }

    /// Adds what another database is and has done.
    static func += (left: inout DatabaseSample, right: DatabaseSample) {
        left.isOpen = left.isOpen || right.isOpen
        left.sessionCount += right.sessionCount
        left.subscriptionCount += right.subscriptionCount
        left.viewCount += right.viewCount
        left.logVersionCount += right.logVersionCount
        left.consumerCount += right.consumerCount
        left.consumerLag = max(left.consumerLag, right.consumerLag)
        left.deadLetterCount += right.deadLetterCount
        left.statistics += right.statistics
        left.eventLag += right.eventLag
    }
}
