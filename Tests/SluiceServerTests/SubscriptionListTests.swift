import SluiceModel
import SluiceQuery
import SluiceViews
import TestSupport
import Testing

@testable import SluiceServer

/// The list of a session's subscriptions, beside a dictionary.
@Suite struct SubscriptionListTests {
    @Test(arguments: UInt64(1)...4) func aListHasWhatADictionaryHas(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let schema = try Schema([
            ClassSchema("Plane", primaryKey: "id", properties: [Property("id", .scalar(.int))])
        ])
        let view = SharedView(LiveView(try Query.parse("Plane", schema: schema), schema: schema))
        let subscriber = Subscriber(
            SessionID(connection: 1, session: 1), holder: .address("1"), access: .everything, pageCredit: 1)
        var list = SubscriptionList()
        var all: [UInt64: ViewSubscription] = [:]
        var next: UInt64 = 0
        for step in 0..<6_000 {
            // First more come than go, then the other way round.
            if generator.chance(step < 4_000 ? 80 : 20) {
                next += UInt64.random(in: 1...3, using: &generator)
                // A costly one starts after others that were requested later.
                let late = next - min(next - 1, UInt64.random(in: 1...2_000, using: &generator))
                let id = generator.chance(10) && all[late] == nil ? late : next
                guard all[id] == nil else { continue }
                let subscription = ViewSubscription(
                    id: id, subscriber: subscriber, view: view, requestedAt: Timestamp(microseconds: 0))
                list.insert(subscription)
                all[id] = subscription
            } else {
                let id = UInt64.random(in: 0...next + 1, using: &generator)
                #expect(list[id] === all[id])
                let removed = list.remove(id)
                #expect(removed === all.removeValue(forKey: id))
            }
            #expect(list.count == all.count)
        }
        #expect(list.all.map(\.id) == all.keys.sorted())
        for id in 0...next + 1 { #expect(list[id] === all[id]) }
        for id in all.keys { #expect(list.remove(id)?.id == id) }
        #expect(list.count == 0 && Array(list.all).isEmpty)
    }
}
