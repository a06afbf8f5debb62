import SluiceModel
import SluiceQuery
import SluiceViews
import SluiceWire
import Testing

@testable import SluiceServer

/// Each transition of the table of ``ViewSubscription``, and what becomes of those who count its states.
@Suite struct SubscriptionStateTests {
    private enum Kind: CaseIterable, Sendable {
        case complete, listing, sharing, comparing, ended
    }

    private let schema: Schema
    private let view: SharedView
    private let subscriber = Subscriber(
        SessionID(connection: 1, session: 1), holder: .address("1"), access: .everything, pageCredit: 1)

    init() throws {
        schema = try Schema([
            ClassSchema("Plane", primaryKey: "id", properties: [Property("id", .scalar(.int))])
        ])
        view = SharedView(LiveView(try Query.parse("Plane", schema: schema), schema: schema))
    }

    private func state(_ kind: Kind) -> ViewSubscription.State {
        var remaining = RemainingPages(
            linked: [], roots: .listed([ObjectRef(0, .int(1)), ObjectRef(0, .int(2))], next: 0), expectedCount: 2)
        switch kind {
        case .complete: return .complete
        case .listing: return .listing(Comparison(announcedCount: 7, isAnnounced: true))
        case .sharing: return .sharing(PageReceiver(PageRun(of: view.live, remaining)))
        case .comparing:
            remaining.announcedCount = 5
            return .comparing(DifferenceRun(remaining))
        case .ended: return .ended
        }
    }

    /// A subscription that has come to a state.
    private func subscription(_ kind: Kind) -> ViewSubscription {
        let subscription = ViewSubscription(
            id: 1, subscriber: subscriber, view: view, requestedAt: Timestamp(microseconds: 0))
        subscriber.subscriptions.insert(subscription)
        view.add(subscription)
        if kind == .comparing { subscription.become(state(.listing)) }
        if kind != .complete { subscription.become(state(kind)) }
        return subscription
    }

    private static let transitions: [(from: Kind, to: [Kind])] = [
        (.complete, [.listing, .comparing, .sharing, .ended]), (.listing, [.comparing, .sharing, .ended]),
        (.sharing, [.complete, .ended]), (.comparing, [.complete, .ended]), (.ended, []),
    ]

    @Test func theTableHasTheseTransitionsAndNoOthers() {
        for (from, allowed) in Self.transitions {
            for to in Kind.allCases {
                #expect(state(from).mayBecome(state(to)) == allowed.contains(to), "\(from) to \(to)")
            }
        }
    }

    @Test(arguments: [
        (Kind.complete, Kind.listing), (.complete, .sharing), (.complete, .ended), (.listing, .comparing),
        (.listing, .sharing), (.listing, .ended), (.sharing, .complete), (.sharing, .ended), (.comparing, .complete),
        (.comparing, .ended),
    ])
    private func whatAStateCountsAsHoldsAfterEachTransition(from: Kind, to: Kind) {
        let subscription = subscription(from)
        // A second one, so that the view keeps who is told of changes.
        let other = ViewSubscription(id: 2, subscriber: subscriber, view: view, requestedAt: Timestamp(microseconds: 0))
        subscriber.subscriptions.insert(other)
        view.add(other)
        #expect(view.receivers.count == (from == .complete ? 2 : 1))
        subscription.become(state(to))
        #expect(subscription.isComplete == (to == .complete))
        #expect(view.receivers.count == (to == .complete ? 2 : 1))
        #expect(subscriber.incompleteCount == ([.complete, .ended].contains(to) ? 0 : 1))
        #expect(subscriber.comparedMemberCount == (to == .listing ? 7 : to == .comparing ? 5 : 0))
        #expect(subscriber.listedRootCount == ([.sharing, .comparing].contains(to) ? 2 : 0))
        #expect(subscription.isReceiving == [.sharing, .comparing].contains(to))
    }

    @Test(arguments: [0, 1 << 34, -8, 1_795_000_000_000_000] as [Int64])
    func theTimeSinceTheRequestIsKnownForHours(requestedAt: Int64) {
        let subscription = ViewSubscription(
            id: 1, subscriber: subscriber, view: view, requestedAt: Timestamp(microseconds: requestedAt))
        let moved = ViewSubscription(subscription, with: view)
        for time in [0, 8, 240, 1_000, 60_000_000, 4 * 3_600_000_000, -1_000] as [Int64] {
            let now = Timestamp(microseconds: requestedAt + time)
            #expect(subscription.waitingTime(until: now) == time && moved.waitingTime(until: now) == time)
        }
    }
}
