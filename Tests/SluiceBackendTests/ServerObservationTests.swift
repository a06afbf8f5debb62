import Dispatch
import SluiceBackend
import SluiceTesting
import Synchronization
import TestSupport
import Testing

/// Observing a database from the server's own process.
struct ServerObservationTests {
    private let server: TestServer

    init() throws { server = try TestServer() }

    @Test func aClientsWriteArrivesWithItsObjectsAndItsAuthor() async throws {
        let nyc = try await server.database(models: models)
        try await nyc.putFlight("UA1", delay: 90)
        try await nyc.putFlight("UA2", delay: 10)
        var changes = nyc.objects(Flight.self).where { $0.delay >= 60 }.changes.makeAsyncIterator()
        let first = try #require(try await changes.next())
        #expect(first.isInitial && first.remote == nil)
        #expect(try first.insertions == [Flight(id: "UA1", delay: 90)])

        let store = try await server.open(models)
        try await store.write { try $0.insert(Flight(id: "UA3", delay: 61)) }
        let inserted = try #require(try await changes.next())
        #expect(try inserted.insertions == [Flight(id: "UA3", delay: 61)])
        #expect(inserted.remote?.operations == [.create])
        #expect(inserted.remote?.userID == nil)
        #expect(!inserted.isInitial)

        try await store.write { try $0.update(Flight(id: "UA3")) { $0.gate = "A1" } }
        let modified = try #require(try await changes.next())
        #expect(try modified.modifications == [Flight(id: "UA3", delay: 61, gate: "A1")])
        #expect(modified.version > inserted.version)

        try await store.write { try $0.update(Flight(id: "UA3")) { $0.delay = 0 } }
        let left = try #require(try await changes.next())
        #expect(left.removals.map(\.identity) == [Identity(className: "Flight", key: .string("UA3"))])
        #expect(left.removals.map(\.reason) == [.filter])
        try await store.write { try $0.delete(Flight.self, key: "UA1") }
        #expect(try #require(try await changes.next()).removals.map(\.reason) == [.deleted])
    }

    @Test func theHandleThatWroteIsToldOfALocalChangeAndOthersOfOneByTheServer() async throws {
        let writer = try await server.database(models: models)
        let other = try await server.database(models: models)
        var own = writer.objects(Flight.self).changes.makeAsyncIterator()
        var foreign = other.objects(Flight.self).changes.makeAsyncIterator()
        _ = try await (own.next(), foreign.next())
        try await writer.putFlight("UA1", delay: 1)
        let (local, remote) = (try #require(try await own.next()), try #require(try await foreign.next()))
        #expect(local.remote == nil)
        #expect(remote.remote?.userID == "server")
        #expect(try local.insertions == remote.insertions)
    }

    @Test func aBusyObserverGetsEachObjectOnceAndTheOriginsApart() async throws {
        let nyc = try await server.database(models: models)
        let store = try await server.open(models)
        var changes = nyc.objects(Flight.self).changes.makeAsyncIterator()
        _ = try await changes.next()
        for number in 1...50 {
            try await nyc.putFlight("N\(number % 5)", delay: number)
            try await store.write { try $0.upsert(Flight(id: "C\(number % 3)", delay: number)) }
            try await store.uploaded(timeout: waitMax)
        }
        try await nyc.write { try $0.delete(Flight.self, key: "N0") }
        var seen: [String: Int] = [:]
        var events: [DatabaseChange<Flight>] = []
        let expected = ["N1": 46, "N2": 47, "N3": 48, "N4": 49, "C0": 48, "C1": 49, "C2": 50]
        while seen != expected {
            let change = try #require(try await changes.next())
            events.append(change)
            let flights = try change.insertions + change.modifications
            #expect(Set(flights.map(\.id)).count == flights.count)
            #expect(flights.allSatisfy { $0.id.hasPrefix("N") == (change.remote == nil) })
            for flight in flights { seen[flight.id] = flight.delay }
            for removal in change.removals where removal.identity.key == .string("N0") { seen["N0"] = nil }
        }
        #expect(events.count < 20)
    }

    @Test func nothingIsMissedOrToldTwiceWhileOthersWrite() async throws {
        let nyc = try await server.database(models: models)
        let writing = Task {
            for number in 0..<300 { try await nyc.putFlight("F\(number)", delay: number) }
        }
        for _ in 0..<10 {
            var changes = nyc.objects(Flight.self).changes.makeAsyncIterator()
            var seen: Set<String> = []
            var versions: [UInt64] = []
            let count = try await nyc.objects(Flight.self).count()
            while seen.count < min(300, count + 20) {
                let change = try #require(try await changes.next())
                for flight in try change.insertions { #expect(seen.insert(flight.id).inserted) }
                versions.append(change.version)
            }
            #expect(versions == versions.sorted())
        }
        try await writing.value
    }

    @Test func aWindowFollowsItsLimit() async throws {
        let nyc = try await server.database(models: models)
        for number in 1...10 { try await nyc.putFlight("F\(number)", delay: number) }
        let latest = nyc.objects(Flight.self).sorted(by: \.delay, ascending: false).limit(3)
        var changes = latest.changes.makeAsyncIterator()
        #expect(try #require(try await changes.next()).insertions.map(\.id) == ["F10", "F9", "F8"])
        try await nyc.putFlight("F11", delay: 11)
        let change = try #require(try await changes.next())
        #expect(try change.insertions.map(\.id) == ["F11"])
        #expect(change.removals.map(\.identity.key) == [.string("F8")])
        try await nyc.write { try $0.delete(Flight.self, key: "F10") }
        let refilled = try #require(try await changes.next())
        #expect(try refilled.insertions.map(\.id) == ["F8"])
    }

    @Test func observersOfOneQueryShareAViewWithClientsAndItGoesWithTheLast() async throws {
        let nyc = try await server.database(models: models)
        let store = try await server.open(models)
        let recorder = try EventRecorder(store.objects(Flight.self).where { $0.delay > 1 })
        try await recorder.complete()
        let token = try await nyc.objects(Flight.self).where { $0.delay > 1 }.observe { _ in }
        let again = try await nyc.objects(Flight.self).where { $0.delay > 1 }.observe { _ in }
        #expect(try await nyc.status().views == 1)
        #expect(try await nyc.subscriptions().map(\.subscribers) == [1])
        token.stop()
        recorder.token.stop()
        try await wait(for: "the subscription's end") { try await nyc.status().subscriptions == 0 }
        #expect(try await nyc.status().views == 1)
        again.stop()
        #expect(try await nyc.status().views == 0)
    }

    @Test func aCancelledIterationEndsItsObservation() async throws {
        let nyc = try await server.database(models: models)
        let begun = AsyncStream<Void>.makeStream()
        let task = Task {
            for try await _ in nyc.objects(Flight.self).changes { begun.continuation.yield() }
        }
        for await _ in begun.stream { break }
        #expect(try await nyc.status().views == 1)
        task.cancel()
        try await task.value
        #expect(try await nyc.status().views == 0)
    }

    @Test func anObserverIsToldThatTheServerWasStopped() async throws {
        let nyc = try await server.database(models: models)
        let failure = AsyncStream<ServerError>.makeStream()
        let token = try await nyc.objects(Flight.self).observe(onFailure: { failure.continuation.yield($0) }) { _ in }
        var changes = nyc.objects(Flight.self).changes.makeAsyncIterator()
        _ = try await changes.next()
        await server.stop()
        for await error in failure.stream {
            #expect(error.code == .stopped)
            break
        }
        let error = await #expect(throws: ServerError.self) { _ = try await changes.next() }
        #expect(error?.code == .stopped)
        token.stop()
    }

    @Test func aSchemaThatGrowsGoesOnAndANewPropertyIsRead() async throws {
        let nyc = try await server.database()
        let old = try ClassSchema("Tower", primaryKey: "id", properties: [Property("id", .scalar(.int))])
        try await nyc.declare([old])
        var changes = nyc.records(ofClass: "Tower").changes.makeAsyncIterator()
        _ = try await changes.next()
        try await nyc.declare([
            ClassSchema(
                "Tower", primaryKey: "id",
                properties: [Property("id", .scalar(.int)), Property("height", .scalar(.double))])
        ])
        let tower = try #require(try await nyc.schema.classes.first)
        try await nyc.write { try $0.insert(Record(tower, ["id": .int(1), "height": .double(2)])) }
        let change = try #require(try await changes.next())
        #expect(try change.insertions.map { $0["height"] } == [.double(2)])
    }

    @Test func aQueryThatCannotBeIsAnErrorWhereItIsUsed() async throws {
        let nyc = try await server.database(models: models)
        await #expect(throws: QueryError.self) { _ = try await nyc.objects(Flight.self).filter("gone > 1").fetch() }
        await #expect(throws: QueryError.self) {
            _ = try await nyc.objects(Flight.self).filter("gone > 1").observe { _ in }
        }
        #expect(throws: QueryError.self) { _ = try nyc.records("Flight WHERE (") }
    }

    @Test func aReactiveBackendTakesTenLines() async throws {
        let nyc = try await server.database(models: models)
        let backend = Task {
            for try await change in nyc.objects(Flight.self).where({ $0.delay > 60 }).changes {
                for flight in try change.insertions + change.modifications {
                    try await nyc.write { try $0.upsert(Alert(flight: flight.id, delay: flight.delay)) }
                }
            }
        }
        let phone = try await server.open(models)
        let alerts = try EventRecorder(phone.objects(Alert.self))
        try await alerts.complete()
        try await phone.write { try $0.insert(Flight(id: "UA1", delay: 75)) }
        let alert = try await alerts.event { !$0.insertions.isEmpty }
        #expect(Array(alert.results) == [Alert(flight: "UA1", delay: 75)])
        #expect(alert.remote?.userID == "server")
        backend.cancel()
        try await backend.value
    }
}
