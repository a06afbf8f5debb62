import SluiceWire
import Testing

@testable import SluiceServer

/// The table of a subscription in the JSON form, which the header of `JSONSubscription` shows.
struct JSONSubscriptionTests {
    typealias State = JSONSubscription.State

    static func subscription(_ state: State) -> JSONSubscription {
        var subscription = JSONSubscription(audience: .init("Car", showsLinks: false))
        switch state {
        case .fresh: break
        case .loading: _ = subscription.note(.bootstrap)
        case .complete: subscription.noteCompletion()
        case .interrupted:
            subscription.noteCompletion()
            _ = subscription.note(.resumed)
        }
        return subscription
    }

    @Test(arguments: State.allCases)
    func `an event leads to the state of the table`(state: State) {
        var subscription = Self.subscription(state)
        #expect(subscription.state == state)
        #expect(subscription.note(.bootstrap) == (state != .loading))
        #expect(subscription.state == .loading)

        subscription = Self.subscription(state)
        #expect(subscription.note(.resumed) == false)
        #expect(subscription.state == (state == .complete ? .interrupted : state))

        subscription = Self.subscription(state)
        subscription.noteCompletion()
        #expect(subscription.state == .complete)
    }
}
