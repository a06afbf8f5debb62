import SluiceBackend
import SluiceModel
import SluiceTesting
import TestSupport
import Testing

/// Figures and groups in the server's own process.
struct ServerAggregateTests {
    private static func same(_ read: (Int, Double?, Int?), _ count: Int, _ average: Double?, _ least: Int?) -> Bool {
        read == (count, average, least)
    }

    @Test func figuresAndGroupsAreReadAndFollowed() async throws {
        let server = try TestServer()
        let nyc = try await server.database(models: models)
        for number in 1...5 { try await nyc.putFlight("UA\(number)", delay: 60 + number) }
        let stats = nyc.objects(Flight.self).where { $0.delay >= 60 }
            .aggregate { ($0.count, $0.average(\.delay), $0.min(\.delay)) }
        let read = try await stats.fetch()
        #expect(Self.same(read, 5, 63, 61))
        let groups = nyc.objects(Flight.self).grouped(by: \.gate) { $0.count }.sorted(by: { $0 }, ascending: false)
        #expect(try await groups.limit(1).fetch().map(\.values) == [5])

        var changes = stats.changes.makeAsyncIterator()
        #expect(Self.same(try #require(try await changes.next()), 5, 63, 61))
        var grouped = groups.changes.makeAsyncIterator()
        #expect(try #require(try await grouped.next()).map(\.key) == [nil])
        // What does not match, and then what does.
        try await nyc.putFlight("AA1", delay: 10)
        #expect(try #require(try await grouped.next()).map(\.values) == [6])
        try await nyc.putFlight("AA2", delay: 60)
        #expect(Self.same(try #require(try await changes.next()), 6, 62.5, 60))
        #expect(try #require(try await grouped.next()).map(\.values) == [7])
        // A client's write.
        let store = try await server.open(models)
        _ = try await store.objects(Flight.self).synced()
        try await store.write { try $0.delete(Flight.self, key: "AA2") }
        #expect(Self.same(try #require(try await changes.next()), 5, 63, 61))
    }

    @Test(arguments: [false, true])
    func `groups stay in their order through every change, also for one who is late`(isLimited: Bool) async throws {
        let server = try TestServer()
        let nyc = try await server.database(models: models)
        let all = nyc.objects(Flight.self).grouped(by: \.gate) { ($0.count, $0.max(\.delay)) }
            .sorted(by: { $0.0 }, ascending: false)
        let groups = isLimited ? all.limit(3) : all
        var changes = groups.changes.makeAsyncIterator()
        #expect(try #require(try await changes.next()).isEmpty)
        var generator = SeededGenerator(seed: 33)
        for round in 0..<40 {
            // Every third time several commits come before anything is taken.
            for _ in 0..<(round % 3 == 0 ? 3 : 1) {
                let id = "F\(generator.next() % 12)"
                let gate = "G\(generator.next() % 6)"
                let delay = Int(generator.next() % 100) + round
                if generator.next() % 4 == 0 {
                    try await nyc.write {
                        if try $0.object(Flight.self, key: id) != nil { try $0.delete(Flight.self, key: id) }
                    }
                } else {
                    try await nyc.write { try $0.upsert(Flight(id: id, delay: delay, gate: gate)) }
                }
            }
            // Something that is always told.
            try await nyc.write { try $0.upsert(Flight(id: "last", delay: 1_000 + round, gate: "G\(round % 2)")) }
            let expected = try await groups.fetch()
            var told = try #require(try await changes.next())
            while !Self.same(told, expected) { told = try #require(try await changes.next()) }
        }
    }

    private static func same(
        _ left: [AggregateGroup<String?, (Int, Int?)>], _ right: [AggregateGroup<String?, (Int, Int?)>]
    ) -> Bool {
        left.map(\.key) == right.map(\.key) && left.map(\.values.0) == right.map(\.values.0)
            && left.map(\.values.1) == right.map(\.values.1)
    }
}
