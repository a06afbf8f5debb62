import SluiceBackend
import SluiceTesting
import TestSupport
import Testing

/// Totals in the server's own process.
struct ServerTotalTests {
    @Test func theTotalComesWithTheFirstEventAndWithTheCommitThatChangesIt() async throws {
        let server = try TestServer()
        let nyc = try await server.database(models: models)
        for number in 1...5 { try await nyc.putFlight("UA\(number)", delay: 60 + number) }
        let late = nyc.objects(Flight.self).where { $0.delay >= 60 }.sorted(by: \.delay, ascending: false)
        var changes = late.limit(2).withTotal().changes.makeAsyncIterator()
        let first = try #require(try await changes.next())
        #expect(first.total == 5)
        #expect(try first.insertions.map(\.id) == ["UA5", "UA4"])

        // Behind the window.
        try await nyc.putFlight("UA0", delay: 60)
        let grown = try #require(try await changes.next())
        #expect(grown.total == 6)
        #expect(try grown.insertions.isEmpty && grown.modifications.isEmpty && grown.removals.isEmpty)

        // A change within the window that leaves the total as it is.
        try await nyc.putFlight("UA5", delay: 99)
        let modified = try #require(try await changes.next())
        #expect(modified.total == nil)
        #expect(try modified.modifications.map(\.id) == ["UA5"])

        // A client's write, which takes one out of both.
        let store = try await server.open(models)
        _ = try await store.objects(Flight.self).synced()
        try await store.write { try $0.delete(Flight.self, key: "UA5") }
        let shrunk = try #require(try await changes.next())
        #expect(shrunk.total == 5 && shrunk.removals.count == 1)
        #expect(try shrunk.insertions.map(\.id) == ["UA3"])
    }

    @Test func withoutBeingAskedNothingIsCounted() async throws {
        let server = try TestServer()
        let nyc = try await server.database(models: models)
        try await nyc.putFlight("UA1", delay: 60)
        var changes = nyc.objects(Flight.self).limit(1).changes.makeAsyncIterator()
        #expect(try #require(try await changes.next()).total == nil)
        var whole = nyc.objects(Flight.self).withTotal().changes.makeAsyncIterator()
        let first = try #require(try await whole.next())
        #expect(try first.total == nil && first.insertions.count == 1)
    }
}
