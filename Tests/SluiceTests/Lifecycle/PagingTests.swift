import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// A job that reads a class page by page, each with a query of its own that it then leaves.
    @Suite(.timeLimit(.minutes(10))) struct PagingTests {
        private static let pageCount = 12
        private static let size = 300

        enum Leaving: CaseIterable {
            case keeping, purging, sweeping
        }

        /// How many subscriptions a store looked at for each page, to find those that have what came or left.
        @Test(arguments: Leaving.allCases)
        func queriesThatHaveEndedAreNotLookedAt(leaving: Leaving) async throws {
            let server = try TestServer()
            let source = try await server.open()
            let count = Self.pageCount * Self.size
            try await source.upload((0..<count).map { Vehicle(vin: "\(100_000 + $0)", plate: "P") })
            let store = try await server.open()
            var counts: [Int] = []
            var last = ""
            for _ in 0..<Self.pageCount {
                let before = try await store.core.perform { $0.lookedAtSubscriptionCount }
                let from = last
                let page = store.objects(Vehicle.self).where { $0.vin > from }.sorted(by: \.vin).limit(Self.size)
                let token = try page.observe { _ in }
                let vehicles = try await page.synced()
                #expect(vehicles.count == Self.size)
                last = try #require(vehicles.last).vin
                token.stop(purgeLocal: leaving == .purging)
                if leaving == .sweeping { #expect(try await store.purgeUnsubscribed() == Self.size) }
                counts.append(try await store.core.perform { $0.lookedAtSubscriptionCount } - before)
            }
            #expect(try store.objects(Vehicle.self).count() == (leaving == .keeping ? count : 0))
            // A few for each row of the page, which only its own query has, and the row before it.
            #expect(counts[Self.pageCount - 1] <= counts[1] + Self.size / 10, "\(counts)")
        }
    }
#endif
