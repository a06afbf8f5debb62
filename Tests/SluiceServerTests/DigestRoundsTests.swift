import SluiceModel
import SluiceQuery
import SluiceViews
import SluiceWire
import TestSupport
import Testing

@testable import SluiceServer

/// Which view is due when, and what it costs to find it.
struct DigestRoundsTests {
    private static func views(_ count: Int) throws -> [SharedView] {
        let schema = try Schema([
            ClassSchema("Plane", primaryKey: "id", properties: [Property("id", .scalar(.int))])
        ])
        let query = try Query.parse("Plane", schema: schema)
        return (0..<count).map { _ in SharedView(LiveView(query, schema: schema)) }
    }

    @Test func aTurnLooksAtFewViewsHoweverManyThereAre() throws {
        let views = try Self.views(1_000)
        var rounds = DigestRounds(interval: 0, roundTime: 0)
        var lookCount = 0
        let found = rounds.next(now: Timestamp(microseconds: 1), among: views) { _ in
            lookCount += 1
            return false
        }
        #expect(found == nil && lookCount == DigestRounds.lookCountMax)
        // Those that were not looked at come next, so a view that is ready is found by and by.
        var turnCount = 1
        while true {
            turnCount += 1
            if rounds.next(now: Timestamp(microseconds: 1), among: views, where: { $0 === views[999] }) != nil { break }
            try #require(turnCount < 100)
        }
        #expect(turnCount == 16)
    }

    @Test func aTurnPassesFewFreeNumbersHoweverManyThereAre() throws {
        let views = [SharedView?](repeating: nil, count: DigestRounds.numberCountMax * 3) + [try Self.views(1)[0]]
        var rounds = DigestRounds(interval: 0, roundTime: 0)
        let found = (0..<4).map { _ in
            rounds.next(now: Timestamp(microseconds: 1), among: views, where: { _ in true }) != nil
        }
        #expect(found == [false, false, false, true])
    }

    @Test func theFirstViewOfADatabaseHasItsTurnOneRoundAfterTheOpening() throws {
        var rounds = DigestRounds(interval: 0, roundTime: 1_000)
        #expect(rounds.next(now: Timestamp(microseconds: 1), among: [], where: { _ in true }) == nil)
        let views = try Self.views(1)
        #expect(rounds.next(now: Timestamp(microseconds: 1_000), among: views, where: { _ in true }) == nil)
        #expect(rounds.next(now: Timestamp(microseconds: 1_001), among: views, where: { _ in true }) != nil)
    }

    @Test func viewsThatComeAndGoDuringARoundTakeNobodysTurn() throws {
        let views = try Self.views(60)
        var generator = SeededGenerator(seed: 8)
        for _ in 0..<200 {
            var rounds = DigestRounds(interval: 0, roundTime: 1_000)
            let staying = views.filter { _ in generator.chance(50) }
            var passing = views.filter { view in !staying.contains { $0 === view } }
            var slots: [SharedView?] = views
            var turns: [ObjectIdentifier: Int] = [:]
            while let view = rounds.next(now: Timestamp(microseconds: 1), among: slots, where: { _ in true }) {
                turns[ObjectIdentifier(view), default: 0] += 1
                guard generator.chance(50), let gone = passing.popLast() else { continue }
                let number = slots.firstIndex { $0 === gone }
                if let number { slots[number] = try generator.chance(50) ? nil : Self.views(1)[0] }
            }
            #expect(staying.allSatisfy { turns[ObjectIdentifier($0)] == 1 })
            #expect(turns.values.allSatisfy { $0 == 1 })
        }
    }

    @Test func aSubscriptionIsRemovedWithoutALookAtTheOthers() throws {
        let view = try #require(try Self.views(1).first)
        let subscriber = Subscriber(
            SessionID(connection: 1, session: 1), holder: .address("1"), access: .everything, pageCredit: 1)
        let all = (0..<50 as Range<UInt64>).map {
            ViewSubscription(id: $0, subscriber: subscriber, view: view, requestedAt: Timestamp(microseconds: 0))
        }
        for subscription in all { view.add(subscription) }
        var left = Set(all.map(\.id))
        for id in [0, 49, 7, 48, 1, 25] + Array(2...6) + Array(8...24) + Array(26...47) as [UInt64] {
            let before = Dictionary(uniqueKeysWithValues: view.subscriptions.map { ($0.id, $0.place) })
            view.remove(all[Int(id)])
            view.remove(all[Int(id)])
            left.remove(id)
            #expect(Set(view.subscriptions.map(\.id)) == left)
            // The last one takes the place that is free; nobody else moves.
            #expect(view.subscriptions.count { before[$0.id] != $0.place } <= 1)
        }
        #expect(!view.hasSubscriptions)
    }
}
