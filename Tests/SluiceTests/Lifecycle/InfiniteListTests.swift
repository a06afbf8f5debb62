import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// What other systems document of lists that grow, of totals beside a page and of aggregates, and what it is here. Each
    /// test names the page it takes its cases from.
    @Suite(.timeLimit(.minutes(10))) struct InfiniteListTests {
        private static func list(_ store: Store, _ limit: Int) -> Results<Vehicle> {
            store.objects(Vehicle.self).where { $0.price < 10 }.sorted(by: \.vin).limit(limit).withTotal()
        }

        /// InstantDB, "Infinite Queries", Reactivity: what is updated and deleted reacts at once, and what is added at the
        /// start of the list appears by itself. https://www.instantdb.com/docs/infinite-queries
        @Test func `a row that comes before the first, is changed, or goes, is seen without loading more`() async throws
        {
            let server = try TestServer()
            let (writer, store) = (try await server.open(), try await server.open())
            try await writer.upload(vins: "d", "f", "h", "j")
            let recorder = try EventRecorder(Self.list(store, 2))
            #expect(try await recorder.complete().vins == ["d", "f"])
            try await writer.upload(vins: "b")
            #expect(try await recorder.event { $0.vins == ["b", "d"] }.total == 5)
            try await writer.write { try $0.update(Vehicle(vin: "d", price: 1, plate: "P-d")) { $0.views = 7 } }
            #expect(try await recorder.event { $0.views == [0, 7] }.total == 5)
            try await writer.write { try $0.delete(Vehicle.self, key: "b") }
            let back = try await recorder.event { $0.vins == ["d", "f"] && !$0.deletions.isEmpty }
            #expect(back.total == 4 && back.removals.map(\.reason) == [.deleted])
        }

        /// The same page, where the list has ended: rows at its end are not there until the next page is loaded. Here the
        /// limit says how many rows there are, so that a list that is not full takes them in by itself.
        @Test func `a row behind the last is seen by itself only where there are fewer than the limit`() async throws {
            let server = try TestServer()
            let (writer, store) = (try await server.open(), try await server.open())
            try await writer.upload(vins: "b", "d")
            let (short, full) = (try EventRecorder(Self.list(store, 3)), try EventRecorder(Self.list(store, 2)))
            #expect(try await short.complete().vins == ["b", "d"])
            #expect(try await full.complete().vins == ["b", "d"])
            try await writer.upload(vins: "f")
            #expect(try await short.event { $0.total == 3 }.vins == ["b", "d", "f"])
            #expect(try await full.event { $0.total == 3 }.vins == ["b", "d"])
            try await writer.upload(vins: "h")
            #expect(try await short.event { $0.total == 4 }.vins == ["b", "d", "f"])
        }

        @Test func `a row that moves behind the last leaves, and the next one comes in`() async throws {
            let server = try TestServer()
            let (writer, store) = (try await server.open(), try await server.open())
            for (vin, price) in [("b", 1.0), ("d", 2), ("f", 3)] {
                try await writer.upload([Vehicle(vin: vin, price: price, plate: "P")])
            }
            let byPrice = store.objects(Vehicle.self).where { $0.price < 10 }.sorted(by: \.price).limit(2).withTotal()
            let recorder = try EventRecorder(byPrice)
            #expect(try await recorder.complete().vins == ["b", "d"])
            try await writer.write { try $0.update(Vehicle(vin: "b", plate: "P")) { $0.price = 9 } }
            let moved = try await recorder.event { $0.vins == ["d", "f"] }
            #expect(moved.total == 3 && moved.removals.map(\.reason) == [.window])
        }

        @Test func `a row that matches no more leaves, is not counted, and the next one comes in`() async throws {
            let server = try TestServer()
            let (writer, store) = (try await server.open(), try await server.open())
            try await writer.upload(vins: "b", "d", "f")
            let recorder = try EventRecorder(Self.list(store, 2))
            #expect(try await recorder.complete().total == 3)
            try await writer.write { try $0.update(Vehicle(vin: "b", plate: "P-b")) { $0.price = 90 } }
            let left = try await recorder.event { $0.vins == ["d", "f"] }
            #expect(left.total == 2 && left.removals.map(\.reason) == [.filter])
            // And one behind the last, of which nothing but the total is seen.
            try await writer.upload(vins: "h")
            _ = try await recorder.event { $0.total == 3 }
            try await writer.write { try $0.update(Vehicle(vin: "h", plate: "P-h")) { $0.price = 90 } }
            #expect(
                try await recorder.event { $0.total == 2 && $0.deletions.isEmpty && !$0.isInitial }.vins == ["d", "f"])
        }

        /// Hasura, "Paginate query results": limited results along with data aggregated over all of them, in one query.
        /// PostGraphile, "Aggregates": they ignore first, last, before and after.
        /// https://hasura.io/docs/latest/queries/postgres/pagination, https://postgraphile.org/postgraphile/aggregates
        @Test func `the total is that of all pages, whichever is asked for`() async throws {
            let server = try TestServer()
            let store = try await server.open()
            try await store.upload(vins: "b", "d", "f", "h")
            try await store.upload(vins: "x", price: 90)
            let cursor = ResultCursor(values: [.string("d")], key: .string("d"))
            let all = store.objects(Vehicle.self).where { $0.price < 10 }.sorted(by: \.vin)
            for (page, vins) in [
                (all.limit(0), []), (all.limit(1), ["b"]), (all.limit(9), ["b", "d", "f", "h"]),
                (all.after(cursor).limit(1), ["f"]), (all.before(cursor).limit(3), ["b"]),
            ] {
                let recorder = try EventRecorder(page.withTotal())
                let complete = try await recorder.complete()
                #expect(complete.vins == vins && complete.total == 4 && complete.isTotalExact)
            }
        }

        /// Firestore, `AggregateField`: a sum of nothing is 0, an average of nothing null (NaN in some of its clients), and
        /// NaN among the values makes both NaN; a sum of integers that overflows becomes a double there, and null here.
        /// https://firebase.google.com/docs/reference/swift/firebasefirestore/api/reference/Classes/AggregateField
        @Test func `aggregates of nothing, of NaN and beyond the range are what is documented`() async throws {
            let server = try TestServer()
            let store = try await server.open()
            let figures = store.objects(Vehicle.self).aggregate {
                ($0.count, $0.sum(\.price), $0.average(\.price), $0.sum(\.views))
            }
            let none = try await figures.synced()
            #expect(none.0 == 0 && none.1 == 0 && none.2 == nil && none.3 == 0)
            var (first, second) = (Vehicle(vin: "a", price: .nan, plate: "P"), Vehicle(vin: "b", price: 1, plate: "P"))
            (first.views, second.views) = (.max, 1)
            try await store.upload([first, second])
            let some = try await figures.synced()
            #expect(some.0 == 2 && some.1?.isNaN == true && some.2?.isNaN == true && some.3 == nil)
        }

        /// Firestore, `getCountFromServer`: the count is the server's, without what this client has written and not sent.
        /// Here what waits is counted at once. https://firebase.google.com/docs/firestore/query-data/aggregation-queries
        @Test func `a count has the writes that wait, also without a connection`() async throws {
            let server = try TestServer()
            let store = try await server.open()
            try await store.upload([Memo(text: "a")])
            let counts = store.objects(Memo.self).aggregate { $0.count }
            let token = try counts.observe { _ in }
            #expect(try await counts.synced() == 1)
            server.cut(store)
            try await store.write { try $0.insert(Memo(text: "b")) }
            #expect(try counts.fetch() == 2 && counts.snapshot().isExact)
            token.stop()
        }
    }
#endif
