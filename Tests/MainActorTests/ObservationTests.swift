import Foundation
import Observation
import Sluice
import SluiceObservation
import SluiceTesting
import Testing

actor Alerts {
    private var token: NotificationToken?
    private(set) var numbers: [Int] = []

    func begin(_ results: Results<Departure>) throws {
        token = try results.observe(isolation: self) { alerts, change in
            alerts.numbers = change.results.map(\.number)
        }
    }

    func end() {
        token?.stop()
        token = nil
    }
}

/// Keeps what it was told last.
actor Observed<Value: Sendable> {
    private(set) var value: Value?
    func set(_ value: Value) { self.value = value }
}

/// Counts on the main actor.
final class MainCounter {
    var events: [Int] = []
    var count = 0
}

/// Observing on actors, and what docs/user-interfaces.md shows, run.
@Suite(.timeLimit(.minutes(10))) struct ObservationTests {
    let server: TestServer
    let store: Store
    let writer: Store

    init() async throws {
        server = try TestServer()
        store = try await server.open([Airport.self, Departure.self])
        writer = try await server.open([Airport.self, Departure.self])
    }

    private var delayed: Results<Departure> { store.objects(Departure.self).where { $0.delay > 60 } }
    private var late: Results<Departure> { delayed.sorted(by: \.number) }

    private func write(_ number: Int, delay: Int) async throws {
        try await writer.write { try $0.upsert(Departure(number: number, delay: delay)) }
    }

    /// Waits until the main actor has done what is due.
    private func settled() async throws {
        for _ in 0..<3 {
            try await server.settled()
            await Task.yield()
        }
    }

    private func wait(until isMet: () -> Bool) async throws {
        while !isMet() {
            try Task.checkCancellation()
            try await server.settled()
        }
    }

    @Test func aHandlerRunsOnTheMainActorInOrder() async throws {
        let counter = MainCounter()
        var title = ""
        let token = try late.observe(isolation: MainActor.shared) { change in
            title = "\(change.results.count) late"
        }
        let other = try late.observe(isolation: MainActor.shared) { change in
            MainActor.assertIsolated()
            counter.events.append(change.results.count)
        }
        for number in 1...20 {
            try await write(number, delay: 100)
            try await writer.uploaded()
            try await server.settled()
        }
        try await wait { title == "20 late" && counter.events.last == 20 }
        #expect(counter.events == counter.events.sorted())
        token.stop()
        other.stop()
        let count = counter.events.count
        try await write(21, delay: 100)
        try await settled()
        #expect(counter.events.count == count && title == "20 late")
    }

    @Test func aHandlerRunsOnAnyActor() async throws {
        let alerts = Alerts()
        try await alerts.begin(late)
        try await write(7, delay: 61)
        while await alerts.numbers != [7] { try await server.settled() }
        await alerts.end()
        try await write(8, delay: 61)
        try await settled()
        #expect(await alerts.numbers == [7])
    }

    @Test func aListLoadsMoreWithoutLosingWhatItShows() async throws {
        for number in 1...12 { try await write(number, delay: 100) }
        try await writer.uploaded()
        let list = try LiveResults(late.limit(3).withTotal())
        try await wait { list.count == 3 && list.total == 12 }
        var counts: [Int] = []
        for more in [3, 2, 30] {
            try list.loadMore(more)
            #expect(list.count >= 3)
            let wanted = min(12, (counts.last ?? 3) + more)
            try await wait { list.count == wanted && list.status.state == .complete }
            counts.append(list.count)
        }
        #expect(counts == [6, 8, 12] && list.elements.map(\.number) == Array(1...12))
        // It is one query that is in sync, and goes on being current.
        try await wait { (try? store.subscriptions().count) == 1 }
        try await write(0, delay: 100)
        try await wait { list.count == 13 && list[0].number == 0 && list.total == 13 }
        list.stop()
        try list.loadMore(3)
        #expect(list.count == 13)
        let whole = try LiveResults(late)
        try whole.loadMore(3)
        try await wait { whole.count == 13 }
    }

    /// The limit of the one query that the store has in sync.
    private var limitInSync: String? {
        guard let all = try? store.subscriptions(), all.count == 1 else { return nil }
        return all[0].query.split(separator: "LIMIT(").last.map { String($0.prefix { $0.isNumber }) }
    }

    @Test func `a list that is scrolled reads ahead, and shows no more than it was told to`() async throws {
        for number in 1...120 { try await write(number, delay: 100) }
        try await writer.uploaded()
        let list = try LiveResults(late.limit(20))
        try await wait { list.count == 20 && list.status.state == .complete }
        // Half as many again as it holds, or as many as it shows.
        for (shown, limit) in [(40, "40"), (60, "60"), (80, "90")] {
            try list.loadMore(20)
            try await wait { list.count == shown && list.status.state == .complete && limitInSync == limit }
        }
        #expect(list.elements.map(\.number) == Array(1...80))
        try list.loadMore(10)
        #expect(list.elements.map(\.number) == Array(1...90) && limitInSync == "90")
        // What is held beyond what is shown changes nothing that is shown.
        try list.loadMore(1)
        try await wait { list.count == 91 && list.status.state == .complete && limitInSync == "135" }
        let decoded = list.decodedCount
        let counter = MainCounter()
        withObservationTracking {
            _ = list.elements
        } onChange: {
            MainActor.assumeIsolated { counter.count += 1 }
        }
        try await write(100, delay: 500)
        try await write(101, delay: 1)
        try await writer.uploaded()
        try await settled()
        #expect(counter.count == 0 && list.decodedCount == decoded && list.count == 91)
        try list.loadMore(10)
        #expect(list.elements.map(\.number) == Array(1...100) + [102])
        #expect(list[99].delay == 500 && counter.count == 1 && list.decodedCount == decoded + 10)
        // What leaves at the top lets the next one in, which is here already.
        try await write(1, delay: 1)
        try await wait { list[0].number == 2 && list.count == 101 }
        #expect(list[100].number == 103)
        list.stop()
    }

    @Test func aFigureIsAlwaysCurrentAlsoWithoutAConnection() async throws {
        let stats = try LiveAggregate(delayed.aggregate { ($0.count, $0.max(\.delay)) })
        let groups = try LiveAggregate(delayed.grouped(by: \.delay) { $0.count })
        let count = Observed<Int>()
        let token = try delayed.aggregate { $0.count }.observe(isolation: count) { $0.set($1.value) }
        try await write(1, delay: 100)
        try await write(2, delay: 200)
        try await wait { stats.value?.0 == 2 && stats.value?.1 == 200 && stats.isExact }
        try await wait { groups.value?.map(\.key) == [100, 200] && groups.freshness == .confirmed }
        while await count.value != 2 { try await server.settled() }
        server.cut(store)
        try await store.write { try $0.upsert(Departure(number: 3, delay: 100)) }
        try await wait { stats.value?.0 == 3 && groups.value?.map(\.values) == [2, 1] }
        server.restore(store)
        try await wait { stats.isExact && stats.status.state == .complete && groups.isExact }
        #expect(stats.error == nil)
        stats.stop()
        groups.stop()
        token.stop()
        try await write(4, delay: 300)
        try await settled()
        #expect(stats.value?.0 == 3)
        #expect(groups.description == "LiveAggregate(\(try #require(groups.value)); complete)")
        #expect(throws: QueryError.self) {
            try LiveAggregate(store.objects(Departure.self).filter("nothing == 1").aggregate { $0.count })
        }
    }

    @Test func whatAQueryLacksIsSaidAtOnce() async throws {
        #expect(throws: QueryError.self) {
            _ = try store.objects(Departure.self).filter("nothing == 1").observe(isolation: MainActor.shared) { _ in }
        }
        #expect(throws: QueryError.self) { try LiveResults(store.objects(Departure.self).filter("nothing == 1")) }
    }

    @Test func aListIsAlwaysCurrentAndSaysWhenItChanges() async throws {
        let counter = MainCounter()
        try await writer.write { tx in
            try tx.insert(Airport(code: "JFK", city: "New York"))
            try tx.insert(Departure(number: 1, delay: 100))
        }
        var title = ""
        let list = try LiveResults(late)
        let board = try LiveObject(store.results(Airport.self, key: "JFK"))
        withObservationTracking {
            title = "\(board.value?.city ?? "?"): \(list.count) late"
        } onChange: {
            print("draw again")
        }
        #expect(title == "?: 0 late")
        withObservationTracking {
            _ = list.elements
        } onChange: {
            MainActor.assumeIsolated { counter.count += 1 }
        }
        try await wait { list.count == 1 && board.value?.city == "New York" }
        #expect(counter.count == 1)
        try await wait { list.status.state == .complete && list.freshness == .confirmed }
        #expect(list[0].number == 1 && !list.isEmpty && list.unreadable.isEmpty)
        #expect(list.description == "LiveResults(1 object; complete)")

        try await writer.write { try $0.update(Airport(code: "JFK")) { $0.city = nil } }
        try await wait { board.value != nil && board.value?.city == nil }
        try await writer.write { try $0.delete(Airport.self, key: "JFK") }
        try await wait { board.value == nil }
        #expect(board.status.state == .complete)
        list.stop(purgeLocal: false)
        board.stop()
        #expect(list.count == 1)
    }

    @Test func onlyWhatChangesIsDecodedAndOnlyWhatChangesIsSaid() async throws {
        try await writer.write { tx in
            for number in 0..<500 { try tx.insert(Departure(number: number, delay: 100)) }
        }
        let list = try LiveResults(late)
        try await wait { list.count == 500 && list.status.state == .complete }
        let decoded = list.decodedCount
        #expect(decoded == 500)
        let counter = MainCounter()
        withObservationTracking {
            _ = list.status
        } onChange: {
            MainActor.assumeIsolated { counter.count += 1 }
        }
        try await write(250, delay: 61)
        try await wait { list.elements[250].delay == 61 }
        #expect(list.decodedCount == decoded + 1)
        try await write(3, delay: 1)
        try await wait { list.count == 499 }
        #expect(list.decodedCount == decoded + 1)
        #expect(counter.count == 0)
        #expect(list.elements.map(\.number) == Array(0..<500).filter { $0 != 3 })
    }

    @Test func whatCannotBeReadLeavesAListWhichSaysWhy() async throws {
        try await writer.write { tx in
            for number in 1...2 { try tx.insert(Departure(number: number, delay: 100)) }
        }
        let list = try LiveResults(late)
        try await wait { list.count == 2 }
        let identity = Identity(className: "Departure", key: .int(1))
        try await writer.write { try $0.update(identity, set: ["status": .string("unheard of")]) }
        try await wait { list.elements.map(\.number) == [2] }
        #expect(list.unreadable.map(\.object) == [identity])
        try await writer.write { try $0.update(identity, set: ["status": .string("scheduled")]) }
        try await wait { list.elements.map(\.number) == [1, 2] }
        #expect(list.unreadable.isEmpty)
    }

    @Test func aListEndsWithItsRelease() async throws {
        var list: LiveResults<Departure>? = try LiveResults(late)
        try await wait { list?.status.state == .complete }
        list = nil
        try await settled()
        #expect(try store.subscriptions().isEmpty)
    }

    @Test func aLoopSeesEverythingAndASlowOneSeesItMerged() async throws {
        var numbers: [Int] = []
        try await write(1, delay: 100)
        try await writer.uploaded()
        for try await change in late.changes {
            numbers = change.results.map(\.number)
            if change.state == .complete { break }
        }
        #expect(numbers == [1])

        var iterator = late.changes.makeAsyncIterator()
        _ = try await iterator.next()
        for number in 2...300 { try await write(number, delay: 100) }
        try await writer.uploaded()
        try await server.settled()
        var count = 0
        while let change = try await iterator.next() {
            count += 1
            if change.results.count == 300 { break }
        }
        #expect(count <= 4, "\(count) events")
    }

    @Test func aLoopSaysThatItWasCancelledAndEndsWithItsStore() async throws {
        let late = late
        let loop = Task {
            for try await _ in late.changes {}
        }
        try await settled()
        loop.cancel()
        await #expect(throws: CancellationError.self) { try await loop.value }
        let other = Task {
            for try await _ in late.changes {}
            return true
        }
        try await settled()
        await store.close()
        #expect(try await other.value)
    }
}
