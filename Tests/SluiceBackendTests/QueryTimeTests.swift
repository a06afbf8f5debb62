import Foundation
import SluiceBackend
import SluiceTesting
import TestSupport
import Testing

@Model struct Errand: Equatable {
    @PrimaryKey var id: String
    var dueAt = Date(timeIntervalSince1970: 0)
    var isDone = false
    var list: Link<ErrandList>?
}

@Model struct ErrandList: Equatable {
    @PrimaryKey var id: String
    var opensAt: Date?
}

extension Sequence {
    fileprivate func asyncMap<Result>(_ body: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}

/// Queries with `$now`: rows come and go when their time comes, for observers, stores, consumers and queues.
struct QueryTimeTests {
    private static let models: [any Model.Type] = [Errand.self, ErrandList.self]
    private let server: TestServer

    init() throws { server = try TestServer() }

    private func database() async throws -> ServerDatabase { try await server.database(models: Self.models) }

    private func errand(_ id: String, in seconds: Double) -> Errand {
        Errand(id: id, dueAt: server.clock.now.addingTimeInterval(seconds))
    }

    private func due(_ database: ServerDatabase) -> ServerResults<Errand> {
        database.objects(Errand.self).where { $0.dueAt <= QueryTime.now && !$0.isDone }
    }

    private func ids(_ results: ServerResults<Errand>) async throws -> [String] {
        try await results.fetch().map(\.id).sorted()
    }

    @Test func aReadFindsWhatIsDueWhenItIsMade() async throws {
        let shop = try await database()
        let (one, two) = (errand("1", in: 60), errand("2", in: 120))
        try await shop.write { for errand in [one, two] { try $0.insert(errand) } }
        #expect(try await ids(due(shop)).isEmpty)
        try await server.advance(by: .seconds(60))
        #expect(try await ids(due(shop)) == ["1"])
        #expect(try await shop.objects(Errand.self).filter("dueAt > $now + 59s").count() == 1)
        #expect(try await shop.objects(Errand.self).filter("dueAt > $now + 60s").count() == 0)
        try await server.advance(by: .seconds(60))
        #expect(try await due(shop).count() == 2)
        let found = try await shop.write { transaction in
            try transaction.objects(Errand.self).where { $0.dueAt <= QueryTime.now }.fetch().map(\.id).sorted()
        }
        #expect(found == ["1", "2"])
    }

    @Test func anObserverIsToldWhenATimeComesAndWhenItIsOver() async throws {
        let shop = try await database()
        let (one, two) = (errand("1", in: 10), errand("2", in: 20))
        try await shop.write { for errand in [one, two] { try $0.insert(errand) } }
        let soon = shop.objects(Errand.self)
            .where { $0.dueAt > QueryTime.now - .seconds(15) && $0.dueAt <= QueryTime.now }
        var changes = soon.changes.makeAsyncIterator()
        #expect(try await changes.next()?.insertions.isEmpty == true)
        var told: [String] = []
        for seconds in [9, 1, 9, 1, 4, 1, 10] {
            let before = try await shop.status().version
            try await server.advance(by: .seconds(seconds))
            let version = try await shop.status().version
            guard version > before else { continue }
            let change = try #require(try await changes.next())
            #expect(change.version == version && change.remote?.userID == "server")
            told +=
                try change.insertions.map { "+\($0.id)" } + change.removals.map { "-\($0.identity.key) \($0.reason)" }
        }
        #expect(told == ["+1", "+2", "-1 filter", "-2 filter"])
    }

    @Test func storesHaveARowFromWhenItIsDueAlsoAfterTheyWereAway() async throws {
        let shop = try await database()
        let first = errand("1", in: 10)
        try await shop.write { try $0.insert(first) }
        let (near, far) = (try await server.open(Self.models), try await server.open(Self.models))
        func due(_ store: Store) -> Results<Errand> { store.objects(Errand.self).where { $0.dueAt <= QueryTime.now } }
        let (nearEvents, farEvents) = (try EventRecorder(due(near)), try EventRecorder(due(far)))
        try await nearEvents.complete()
        try await farEvents.complete()
        let subscriptions = try await shop.subscriptions()
        #expect(subscriptions.map(\.query) == ["Errand WHERE dueAt <= $now"])
        try await server.advance(by: .seconds(10))
        for events in [nearEvents, farEvents] {
            let change = try await events.event { !$0.insertions.isEmpty }
            #expect(change.results.map(\.id) == ["1"] && change.remote?.userID == "server")
        }
        server.cut(far)
        let (second, third) = (errand("2", in: 5), errand("3", in: 1_000))
        try await shop.write { for errand in [second, third] { try $0.insert(errand) } }
        try await server.advance(by: .seconds(5))
        _ = try await nearEvents.event { $0.results.count == 2 }
        server.restore(far)
        _ = try await farEvents.event { $0.results.map(\.id).sorted() == ["1", "2"] }
        try await server.settled()
        #expect(try due(near).fetch().count == 2 && due(far).fetch().count == 2)
    }

    @Test func whatIsHereEntersByTheStoresClockWhileItIsAway() async throws {
        let shop = try await database()
        let (one, two) = (errand("1", in: 10), errand("2", in: 100))
        try await shop.write { for errand in [one, two] { try $0.insert(errand) } }
        let store = try await server.open(Self.models)
        let all = try EventRecorder(store.objects(Errand.self))
        let due = try EventRecorder(store.objects(Errand.self).where { $0.dueAt <= QueryTime.now })
        let late = try EventRecorder(store.objects(Errand.self).where { $0.dueAt > QueryTime.now })
        for events in [all, due, late] { try await events.complete() }
        server.cut(store)
        let own = errand("own", in: 20)
        try await store.write { try $0.insert(own) }
        try await server.advance(by: .seconds(10))
        var change = try await due.event { $0.results.count == 1 }
        #expect(change.results.map(\.id) == ["1"] && change.remote == nil)
        _ = try await late.event { Set($0.results.map(\.id)) == ["2", "own"] }
        try await server.advance(by: .seconds(10))
        change = try await due.event { $0.results.count == 2 }
        #expect(Set(change.results.map(\.id)) == ["1", "own"])
        #expect(try store.objects(Errand.self).where { $0.dueAt <= QueryTime.now }.fetch().count == 2)
        server.restore(store)
        try await store.uploaded(timeout: waitMax)
        try await server.settled()
        #expect(due.events.last.map { Set($0.results.map(\.id)) } == ["1", "own"])
        #expect(late.events.last?.results.map(\.id) == ["2"])
        try await server.advance(by: .seconds(80))
        change = try await due.event { $0.results.count == 3 }
        #expect(change.remote?.userID == "server")
        #expect(try await late.event { $0.results.isEmpty && $0.state == .complete }.remote?.userID == "server")
    }

    @Test func `the total follows the dates that pass of what this store has written`() async throws {
        let shop = try await database()
        let store = try await server.open(Self.models)
        let soon = store.objects(Errand.self)
            .where { $0.dueAt > QueryTime.now - .seconds(15) && $0.dueAt <= QueryTime.now }
            .limit(5).withTotal()
        let totals = Guarded<[Int?]>([])
        let token = try soon.observe { change in totals.withLock { $0.append(change.total) } }
        try await server.settled()
        server.cut(store)
        let own = errand("own", in: 10)
        try await store.write { try $0.insert(own) }
        for (seconds, count) in [(9, 0), (2, 1), (13, 1), (2, 0)] {
            try await server.advance(by: .seconds(seconds))
            #expect(totals.withLock { $0.last } == .some(count))
            #expect(try soon.snapshot().total == count)
        }
        _ = (token, shop)
    }

    @Test func `an observer is told of a date that was written while nobody observed`() async throws {
        _ = try await database()
        let store = try await server.open(Self.models)
        let due = store.objects(Errand.self).where { $0.dueAt <= QueryTime.now }
        let former = try EventRecorder(due)
        try await former.complete()
        former.token.stop(purgeLocal: false)
        try await server.settled()
        server.cut(store)
        let own = errand("own", in: 10)
        try await store.write { try $0.insert(own) }
        let events = try EventRecorder(due)
        try await server.advance(by: .seconds(10))
        #expect(try await events.event { $0.results.count == 1 }.results.map(\.id) == ["own"])
    }

    @Test func aConditionBehindALinkChangesWithTime() async throws {
        let shop = try await database()
        let opensAt = server.clock.now.addingTimeInterval(30)
        try await shop.write { transaction in
            let list = ErrandList(id: "L", opensAt: opensAt)
            try transaction.insert(list)
            for number in 1...3 { try transaction.insert(Errand(id: "\(number)", list: number < 3 ? Link(list) : nil)) }
        }
        let store = try await server.open(Self.models)
        let open = try EventRecorder(store.records("Errand WHERE list.opensAt <= $now SORT(id ASC)"))
        let lists = try EventRecorder(
            store.records("ErrandList WHERE SUBQUERY(@links.Errand.list, $e, $e.dueAt < $now).@count > 1"))
        try await open.complete()
        #expect(try await lists.complete().results.count == 1)
        #expect(open.events.last?.results.isEmpty == true)
        try await server.advance(by: .seconds(30))
        #expect(try await open.event { !$0.results.isEmpty }.results.count == 2)
    }

    @Test func aConsumerIsGivenWhatHasBecomeDueAndWhatIsDueNoMore() async throws {
        let shop = try await database()
        let errands = [errand("1", in: 10), errand("2", in: 20), errand("3", in: 500)]
        try await shop.write { for errand in errands { try $0.insert(errand) } }
        let fresh = shop.objects(Errand.self)
            .where { $0.dueAt <= QueryTime.now && $0.dueAt > QueryTime.now - .seconds(100) }
        let given = Guarded<[String]>([])
        @Sendable func take(_ batch: ConsumerBatch<Errand>) async throws {
            given.withLock { given in
                given += batch.upserts.map { "+\($0.value.id)" } + batch.removals.map { "-\($0.identity.key)" }
            }
            try await batch.commit { _ in }
        }
        #expect(try await shop.consumer("due", of: fresh).runOnce(take) == 0)
        try await server.advance(by: .seconds(10))
        #expect(try await shop.consumer("due", of: fresh).runOnce(take) == 1)
        #expect(try await shop.consumer("due", of: fresh).runOnce(take) == 0)
        try await server.advance(by: .seconds(15))
        try await server.restart()
        let again = try await database()
        let results = again.objects(Errand.self)
            .where { $0.dueAt <= QueryTime.now && $0.dueAt > QueryTime.now - .seconds(100) }
        #expect(try await again.consumer("due", of: results).runOnce(take) == 1)
        try await server.advance(by: .seconds(90))
        #expect(try await again.consumer("due", of: results).runOnce(take) == 1)
        #expect(given.withLock { $0 } == ["+1", "+2", "-1"])
    }

    @Test func aConsumerThatWaitsIsWokenByTheTime() async throws {
        let shop = try await database()
        let errands = [errand("1", in: 10), errand("2", in: 20)]
        try await shop.write { for errand in errands { try $0.insert(errand) } }
        let given = AsyncStream<[String]>.makeStream()
        let results = due(shop)
        let work = Task {
            try await shop.consumer("due", of: results).run { batch in
                try await batch.commit { _ in }
                let ids = batch.upserts.map(\.value.id)
                if !ids.isEmpty { given.continuation.yield(ids) }
            }
        }
        var batches = given.stream.makeAsyncIterator()
        for expected in ["1", "2"] {
            try await server.advance(by: .seconds(10))
            #expect(await batches.next() == [expected])
        }
        work.cancel()
        try await work.value
    }

    @Test func aQueueHasARowFromWhenItIsDue() async throws {
        let shop = try await database()
        let errands = [errand("1", in: 10), errand("2", in: 20), errand("3", in: -5)]
        try await shop.write { for errand in errands { try $0.insert(errand) } }
        let order = Guarded<[String]>([])
        let finished = AsyncStream<String>.makeStream()
        let work = Task {
            try await shop.queue("errands", of: due(shop)).run(workers: 2) { errand, _ in
                order.withLock { $0.append(errand.id) }
                return { transaction in
                    try transaction.update(Errand(id: errand.id)) { $0.isDone = true }
                    finished.continuation.yield(errand.id)
                }
            }
        }
        var done = finished.stream.makeAsyncIterator()
        #expect(await done.next() == "3")
        for expected in ["1", "2"] {
            try await server.advance(by: .seconds(10))
            #expect(await done.next() == expected)
        }
        #expect(order.withLock { $0 } == ["3", "1", "2"])
        work.cancel()
        try await work.value
    }

    @Test func jobsBesideAStoreHaveARowFromWhenItIsDue() async throws {
        let shop = try await database()
        let errands = [errand("1", in: 10), errand("2", in: 20), errand("3", in: -5)]
        try await shop.write { for errand in errands { try $0.insert(errand) } }
        let store = try await server.open(Self.models)
        let due = store.objects(Errand.self).where { $0.dueAt <= QueryTime.now && !$0.isDone }
        let given = AsyncStream<[String]>.makeStream()
        let consuming = Task {
            try await store.consumer("due", of: store.objects(Errand.self).where { $0.dueAt <= QueryTime.now }).run {
                batch in
                try await batch.commit { _ in }
                given.continuation.yield(batch.upserts.map(\.value.id))
            }
        }
        var batches = given.stream.makeAsyncIterator()
        while let ids = await batches.next(), !ids.contains("3") {}
        let finished = AsyncStream<String>.makeStream()
        let work = Task {
            try await store.queue("errands", of: due).run(workers: 2) { errand, _ in
                { transaction in
                    var errand = errand
                    errand.isDone = true
                    try transaction.upsert(errand)
                    finished.continuation.yield(errand.id)
                }
            }
        }
        var done = finished.stream.makeAsyncIterator()
        #expect(await done.next() == "3")
        for expected in ["1", "2"] {
            try await server.advance(by: .seconds(10))
            while let ids = await batches.next(), !ids.contains(expected) {}
            #expect(await done.next() == expected)
        }
        consuming.cancel()
        work.cancel()
        _ = await (consuming.result, work.result)
    }

    @Test func theServersOfAClusterAgreeAndMoveTimeOnce() async throws {
        let cluster = try TestCluster(nodes: 3)
        let shops = try await [1, 2, 3].asyncMap { try await cluster[$0].database(models: Self.models) }
        let errands = (1...3).map { Errand(id: "\($0)", dueAt: cluster.clock.now.addingTimeInterval(Double(10 * $0))) }
        try await shops[0].write { for errand in errands { try $0.insert(errand) } }
        var recorders: [EventRecorder<Errand>] = []
        for number in 1...3 {
            let store = try await cluster.open(Self.models, on: number)
            recorders.append(try EventRecorder(store.objects(Errand.self).where { $0.dueAt <= QueryTime.now }))
        }
        for events in recorders { try await events.complete() }
        let before = try await shops[0].status().version
        for count in 1...3 {
            try await cluster.advance(by: .seconds(10))
            for events in recorders { #expect(events.events.last?.results.count == count) }
            for shop in shops { #expect(try await shop.status().version == before + UInt64(count)) }
        }
    }

    @Test func manyViewsShareOneTimerAndTimeMovesOnlyWhereADatePasses() async throws {
        let shop = try await database()
        let errands = (1...5).map { errand("\($0)", in: Double(10 * $0)) }
        try await shop.write { for errand in errands { try $0.insert(errand) } }
        let store = try await server.open(Self.models)
        let before = try await shop.status().version
        let recorders = try (0..<20).map { number in
            try EventRecorder(store.records("Errand WHERE dueAt <= $now AND id != \("x\(number)")"))
        }
        for events in recorders { try await events.complete() }
        let timerCount = server.clock.timerCount
        try await server.advance(by: .seconds(1_000))
        for events in recorders { #expect(events.events.last?.results.count == 5) }
        #expect(try await shop.status().version == before + 5)
        #expect(server.clock.timerCount <= timerCount)
    }
}
