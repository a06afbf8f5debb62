import Foundation
import SluiceBackend
import SluiceTesting
import TestSupport
import Testing

/// Totals, places and figures of queries with `$now`, while the time passes.
struct AggregateTimeTests {
    private static let models: [any Model.Type] = [Errand.self, ErrandList.self]
    private let server: TestServer

    init() throws { server = try TestServer() }

    @Test func totalsPagesAndFiguresFollowTheTimeInOneStep() async throws {
        let shop = try await server.database(models: Self.models)
        let start = server.clock.now
        try await shop.write { transaction in
            for number in 1...6 {
                try transaction.insert(Errand(id: "\(number)", dueAt: start.addingTimeInterval(Double(number * 10))))
            }
        }
        let due = shop.objects(Errand.self).where { $0.dueAt <= QueryTime.now && !$0.isDone }.sorted(by: \.id)
        var page = due.limit(1).withTotal().changes.makeAsyncIterator()
        #expect(try #require(try await page.next()).total == 0)
        var figures = shop.objects(Errand.self).where { $0.dueAt <= QueryTime.now && !$0.isDone }
            .aggregate { ($0.count, $0.max(\.dueAt)) }.changes.makeAsyncIterator()
        let none = try #require(try await figures.next())
        #expect(none.0 == 0 && none.1 == nil)
        var groups = shop.objects(Errand.self).where { $0.dueAt > QueryTime.now }
            .grouped(by: \.isDone) { $0.count }.changes.makeAsyncIterator()
        #expect(try #require(try await groups.next()).map(\.values) == [6])

        for number in 1...3 {
            try await server.advance(by: .seconds(10))
            let change = try #require(try await page.next())
            #expect(change.total == number)
            #expect(try change.insertions.map(\.id) == (number == 1 ? ["1"] : []))
            let (count, last) = try #require(try await figures.next())
            #expect(count == number && last == start.addingTimeInterval(Double(number * 10)))
            #expect(try #require(try await groups.next()).map(\.values) == [6 - number])
        }
        // A longer window, and one behind a place, take the count over as it is at this time.
        var longer = due.limit(2).withTotal().changes.makeAsyncIterator()
        let first = try #require(try await longer.next())
        #expect(try first.total == 3 && first.insertions.map(\.id) == ["1", "2"])
        let behind = ResultCursor(values: [.string("1")], key: .string("1"))
        var next = due.after(behind).limit(1).withTotal().changes.makeAsyncIterator()
        let second = try #require(try await next.next())
        #expect(try second.total == 3 && second.insertions.map(\.id) == ["2"])
        try await server.advance(by: .seconds(10))
        #expect(try #require(try await longer.next()).total == 4)
        #expect(try #require(try await next.next()).total == 4)
        #expect(try #require(try await page.next()).total == 4)
        // A write and the time together.
        try await shop.write { try $0.update(Errand(id: "1")) { $0.isDone = true } }
        #expect(try #require(try await longer.next()).total == 3)
        #expect(try #require(try await figures.next()).0 == 4)
        #expect(try #require(try await figures.next()).0 == 3)
    }

    @Test func aStoreShowsTheServersFiguresUntilItIsBackAndSaysSo() async throws {
        let shop = try await server.database(models: Self.models)
        let start = server.clock.now
        try await shop.write { transaction in
            for number in 1...3 {
                try transaction.insert(Errand(id: "\(number)", dueAt: start.addingTimeInterval(Double(number * 10))))
            }
        }
        let store = try await server.open(Self.models)
        let due = store.objects(Errand.self).where { $0.dueAt <= QueryTime.now }.aggregate { $0.count }
        let token = try due.observe { _ in }
        #expect(try await due.synced() == 0)
        try await server.advance(by: .seconds(10))
        try await server.settled()
        let shown = try due.snapshot()
        #expect(shown.value == 1 && shown.isExact)
        token.stop(purgeLocal: false)
    }
}
