internal import SluiceModel
internal import SluiceWire

/// One session's subscription to a shared view.
///
/// It is made complete, in the call that decides how it begins. Its states from then on:
///
/// | state | event | next |
/// |---|---|---|
/// | complete | the log or a digest brings the client up to date | complete |
/// | complete | the client is asked for its members | listing |
/// | complete | the client is sent everything | sharing |
/// | complete | the client has the members of a smaller one | comparing |
/// | listing | the list is complete | comparing |
/// | listing | the list is longer than the session has room for, or its user may read other properties since | sharing |
/// | sharing, comparing | the last page was sent | complete |
/// | all | it was unsubscribed, or failed; it leaves its view because of rights or a wide change; its session ends | ended |
///
/// Nothing follows on *ended*: a subscription that goes on with another view is another object with the same number.
/// Only the database's queue uses it.
final class ViewSubscription {
    enum State {
        /// The client has all of the view, and is told of commits.
        case complete
        /// The client lists the members that it has.
        case listing(Comparison)
        /// The client has nothing of the view, and takes pages that all in its position share.
        case sharing(PageReceiver)
        /// The client has listed its members, and takes what differs in pages of its own.
        case comparing(DifferenceRun)
        case ended
    }

    let id: UInt64
    let subscriber: Subscriber
    let view: SharedView
    private(set) var state = State.complete
    /// Its position among the subscriptions of the view, which the view keeps.
    var place: UInt32 = 0
    /// The lower 32 bits of when it was asked for, in units of eight microseconds.
    private let requestTime: UInt32

    init(id: UInt64, subscriber: Subscriber, view: SharedView, requestedAt: Timestamp) {
        requestTime = Self.shortTime(requestedAt)
        self.id = id
        self.subscriber = subscriber
        self.view = view
    }

    /// A subscription that has left its view and goes on with another one.
    init(_ former: ViewSubscription, with view: SharedView) {
        requestTime = former.requestTime
        id = former.id
        subscriber = former.subscriber
        self.view = view
    }

    private static func shortTime(_ time: Timestamp) -> UInt32 { UInt32(truncatingIfNeeded: time.microseconds >> 3) }

    /// How many microseconds have passed since it was asked for, to eight, if these are not more than four hours.
    func waitingTime(until now: Timestamp) -> Int64 {
        Int64(Int32(bitPattern: Self.shortTime(now) &- requestTime)) << 3
    }

    /// Goes on to another state.
    ///
    /// - Precondition: the table has it.
    func become(_ next: State) {
        precondition(state.mayBecome(next), "a subscription cannot become \(next) when it is \(state)")
        let wasComplete = isComplete
        state = next
        if isComplete != wasComplete { view.noteCompletion() }
        subscriber.noteState(of: self)
    }

    var session: SessionID { subscriber.session }

    /// What the query computes over everything that it matches, to be sent in a completion; nil for nothing.
    ///
    /// - Parameter receiverCount: to how many subscriptions.
    func figuresToSend(to receiverCount: Int = 1) -> [Value]? {
        let figures = view.figures(for: subscriber)
        if let figures { view.cost.noteSent(byteCount: figures.encodedSize * receiverCount) }
        return figures
    }

    var isComplete: Bool { if case .complete = state { true } else { false } }

    /// Whether it has begun and is not complete yet.
    var isIncomplete: Bool {
        switch state {
        case .complete, .ended: false
        case .listing, .sharing, .comparing: true
        }
    }

    /// Whether it is sent pages.
    var isReceiving: Bool { remaining != nil }

    /// The comparison of members, while the client lists them.
    var comparison: Comparison? { if case .listing(let comparison) = state { comparison } else { nil } }

    /// Its place in a run of shared pages, if it takes such pages.
    var receiver: PageReceiver? { if case .sharing(let receiver) = state { receiver } else { nil } }

    /// Its own run of pages, if it takes such pages.
    var run: DifferenceRun? { if case .comparing(let run) = state { run } else { nil } }

    /// What remains to be read of the view.
    var remaining: RemainingPages? {
        switch state {
        case .sharing(let receiver): receiver.run.remaining
        case .comparing(let run): run.remaining
        case .complete, .listing, .ended: nil
        }
    }

    /// How many roots are listed that remain to be read.
    var listedRootCount: Int {
        switch state {
        case .sharing(let receiver): receiver.run.remaining.listedRootCount
        case .comparing(let run): run.remaining.listedRootCount
        case .complete, .listing, .ended: 0
        }
    }

    /// Whether the server could send a page now.
    var canTakePage: Bool {
        guard subscriber.pageCredit > 0 else { return false }
        switch state {
        case .sharing(let receiver):
            let run = receiver.run
            return receiver.next < run.pages.count || run.remaining.isReadable && !run.isReading
        case .comparing(let run): return run.hasPage || run.remaining.isReadable && !run.isReading
        case .complete, .listing, .ended: return false
        }
    }

    /// Whether its next page is one that must be read from the database, and beside the writer where that is possible.
    func needsReading(_ limits: DatabaseLimits) -> Bool {
        switch state {
        case .sharing(let receiver):
            receiver.next == receiver.run.pages.count && receiver.run.remaining.needsReading(limits)
        case .comparing(let run): !run.hasPage && run.remaining.needsReading(limits)
        case .complete, .listing, .ended: false
        }
    }

    /// Whether further pages may be read already, since fewer than so many wait for credit.
    func mayReadAhead(_ countMax: Int, _ limits: DatabaseLimits) -> Bool {
        switch state {
        case .sharing(let receiver):
            receiver.run.pages.count < receiver.next + countMax && receiver.run.remaining.needsReading(limits)
        case .comparing(let run): run.mayReadAhead(countMax, limits)
        case .complete, .listing, .ended: false
        }
    }

    /// How many objects commits have touched behind the pages.
    var touchedCount: Int {
        switch state {
        case .sharing(let receiver): receiver.run.touchedCount
        case .comparing(let run): run.remaining.touched.count
        case .complete, .listing, .ended: 0
        }
    }

    /// How many members the client has listed, or was asked to list, while they count.
    var announcedCount: Int {
        switch state {
        case .listing(let comparison): comparison.announcedCount
        case .comparing(let run): run.remaining.announcedCount
        case .complete, .sharing, .ended: 0
        }
    }

    /// Continues with the roots that were listed.
    func list(_ roots: [ObjectRef]) {
        switch state {
        case .sharing(let receiver): receiver.run.list(roots)
        case .comparing(let run): run.remaining.list(roots)
        case .complete, .listing, .ended: break
        }
    }

    /// The message that ends the subscription alone.
    func failure(_ code: ErrorCode, _ message: String) -> ServerMessage {
        .subscriptionError(
            .init(session: session.session, subscription: id, code: code, message: message, position: nil))
    }
}

extension ViewSubscription.State {
    /// Whether the table of ``ViewSubscription`` leads from here to another state.
    func mayBecome(_ next: Self) -> Bool {
        switch (self, next) {
        case (.ended, _): false
        case (_, .ended): true
        case (.complete, .listing), (.complete, .sharing), (.complete, .comparing): true
        case (.listing, .comparing), (.listing, .sharing): true
        case (.sharing, .complete), (.comparing, .complete): true
        case (.complete, _), (.listing, _), (.sharing, _), (.comparing, _): false
        }
    }
}
