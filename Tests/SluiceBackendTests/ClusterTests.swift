import Foundation
import SluiceBackend
import SluiceModel
import SluiceRules
import SluiceStorage
import SluiceTesting
import SluiceWire
import TestSupport
import Testing

@testable import SluiceServer

/// Several servers on shared journals: stores, backends and subscriptions through what may happen to a node.
struct ClusterTests {
    private let cluster: TestCluster

    init() throws { cluster = try TestCluster(nodes: 3) }

    private func delays(of store: Store) async throws -> [String: Int] {
        let flights = try await store.objects(Flight.self).synced()
        return Dictionary(uniqueKeysWithValues: flights.map { ($0.id, $0.delay) })
    }

    /// Adds to the delay of a flight, which the first write creates, so that a write that is taken twice shows.
    private func delay(_ id: String, in store: Store, by minutes: Int = 1) async throws {
        try await store.write { transaction in
            if try transaction.object(Flight.self, key: id) == nil { try transaction.insert(Flight(id: id)) }
            try transaction.increment(Flight(id: id), \.delay, by: minutes)
        }
    }

    private static func inserted(_ change: Change<Flight>) -> [String] {
        change.insertions.map { change.results[$0].id }
    }

    @Test func `a write on one node reaches the stores of the others once`() async throws {
        let writer = try await cluster.open(models, on: 1)
        let reader = try await cluster.open(models, on: 3)
        let recorder = try EventRecorder(reader.objects(Flight.self))
        try await recorder.complete()
        try await delay("UA1", in: writer)
        let change = try await recorder.event { !$0.insertions.isEmpty }
        #expect(change.remote?.workerID == "node-1")
        try await cluster.settled()
        #expect(recorder.events.count { !$0.insertions.isEmpty || !$0.modifications.isEmpty } == 1)
        #expect(cluster[1].connectionCount == 1 && cluster[2].connectionCount == 0 && cluster[3].connectionCount == 1)
    }

    @Test func `a subscription goes on through failovers, and each event comes once`() async throws {
        let writer = try await cluster.open(models, on: 1)
        let reader = try await cluster.open(models, on: 2)
        let (own, others) = (
            try EventRecorder(writer.objects(Flight.self)), try EventRecorder(reader.objects(Flight.self))
        )
        try await own.complete()
        try await others.complete()
        for number in 1...12 {
            let node = (number - 1) % 3 + 1
            if number > 1 { await cluster.kill(node) }
            try await delay("F\(number)", in: writer)
            try await writer.uploaded()
            try await others.event { Self.inserted($0).contains("F\(number)") }
            if number > 1 { try await cluster.restart(node) }
        }
        try await cluster.settled()
        for recorder in [own, others] {
            let inserted = recorder.events.flatMap(Self.inserted)
            #expect(inserted.sorted() == (1...12).map { "F\($0)" }.sorted())
            #expect(recorder.events.allSatisfy { $0.deletions.isEmpty })
        }
        #expect(own.events.allSatisfy { $0.remote == nil })
        #expect(others.events.filter { !$0.insertions.isEmpty }.allSatisfy { $0.remote != nil })
        #expect(try await delays(of: reader) == Dictionary(uniqueKeysWithValues: (1...12).map { ("F\($0)", 1) }))
    }

    @Test func `a node that is cut off answers queries, keeps uploads waiting, and goes on`() async throws {
        let here = try await cluster.open(models, on: 1) { $0.sync?.urls.removeLast(2) }
        let there = try await cluster.open(models, on: 2)
        try await delay("UA1", in: here)
        try await here.uploaded()
        cluster.cut(1)
        try await delay("UA1", in: here, by: 10)
        try await delay("UA1", in: there, by: 100)
        try await there.uploaded()
        try await cluster.settled()
        #expect(try await delays(of: there) == ["UA1": 101])
        #expect(try here.objects(Flight.self).fetch().map(\.delay) == [11])
        cluster.mend(1)
        try await cluster.advance(by: .seconds(10))
        try await here.uploaded()
        try await cluster.settled()
        for store in [here, there] { #expect(try await delays(of: store) == ["UA1": 111]) }
    }

    @Test func `a node that is cut off opens a database as its replica is, and catches up later`() async throws {
        let here = try await cluster.open(models, on: 1) { $0.sync?.urls.removeLast(2) }
        let there = try await cluster.open(models, on: 2)
        try await delay("UA1", in: here)
        try await here.uploaded()
        await here.close()
        await cluster.kill(1)
        try await delay("UA2", in: there)
        try await there.uploaded()
        try await cluster.restart(1)
        cluster.cut(1)
        // What the replica has is served; what is written waits.
        let again = try await cluster.open(models, on: 1) { $0.sync?.urls.removeLast(2) }
        #expect(try await delays(of: again) == ["UA1": 1])
        try await delay("UA1", in: again, by: 10)
        try await cluster.settled()
        #expect(try await delays(of: there) == ["UA1": 1, "UA2": 1])
        cluster.mend(1)
        try await cluster.advance(by: .seconds(10))
        try await again.uploaded()
        try await cluster.settled()
        for store in [again, there] { #expect(try await delays(of: store) == ["UA1": 11, "UA2": 1]) }
    }

    @Test func `a database whose history went on elsewhere is made anew once its node hears of it`() async throws {
        let here = try await cluster.open(models, on: 1) { $0.sync?.urls.removeLast(2) }
        let there = try await cluster.open(models, on: 2)
        for number in 1...3 {
            try await delay("UA\(number)", in: here)
            try await here.uploaded()
        }
        try await cluster.settled()
        await here.close()
        await cluster.kill(1)
        // The journal loses a group that this node's replica has, and others append in its place.
        try cluster.fork(losing: 1)
        try await delay("UA4", in: there)
        try await cluster.advance(by: .seconds(10))
        try await there.uploaded()
        try await cluster.restart(1)
        cluster.cut(1)
        let again = try await cluster.open(models, on: 1) { $0.sync?.urls.removeLast(2) }
        #expect(try await delays(of: again)["UA3"] == 1)
        cluster.mend(1)
        try await cluster.advance(by: .seconds(10))
        try await cluster.settled()
        let known = try await delays(of: there)
        #expect(known["UA4"] == 1)
        #expect(try await delays(of: again) == known)
    }

    @Test func `a name makes a database with the first session that may declare classes`() async throws {
        let reader = try await cluster.open(models, database: "later", on: 1) { $0.sync?.access = .readOnly }
        let nobody = try await cluster.open([], database: "nothing", on: 2)
        try await cluster.settled()
        #expect(try cluster.journals.databaseNames == [])
        let writer = try await cluster.open(models, database: "later", on: 2)
        try await delay("UA1", in: writer)
        try await writer.uploaded()
        // Who has found nothing asks again.
        try await cluster.advance(by: .seconds(6))
        try await reader.connected()
        #expect(try await delays(of: reader) == ["UA1": 1])
        #expect(try cluster.journals.databaseNames == ["later"])
        await nobody.close()
    }

    @Test func `rules say who makes a database, and a quota how many there are`() async throws {
        let rules =
            #"{"database": {"schema": "$user.id == 'ada'", "rules": "$user.id == 'eve'"}, "classes": {"Flight": {"read": true}}}"#
        let journals = try MemoryJournals()
        let opener = DatabaseOpener(
            folder: nil, workerID: nil, limits: DatabaseLimits(), random: { .random(in: .min ... .max) },
            now: { Timestamp(microseconds: 0) }, log: nil, rules: try RulesFile(rules), databaseCountMax: 1,
            journals: journals)
        let schema = try StoreConfiguration(models: models).wholeSchema()
        func mayMake(_ user: String?, _ schema: Schema, options: ClientMessage.Open.Options = []) -> Bool {
            let request = ClientMessage.Open(session: 1, path: "x", options: options, schema: schema)
            return opener.mayMake(request, by: User(id: user, mayExtendSchema: true))
        }
        #expect(mayMake("ada", schema))
        #expect(!mayMake("bob", schema) && !mayMake(nil, schema))
        #expect(!mayMake("ada", Schema()) && !mayMake("ada", schema, options: .readOnly))
        // One that says that classes or rules come later brings none yet.
        #expect(mayMake("ada", Schema(), options: .making) && mayMake("eve", Schema(), options: .making))
        #expect(!mayMake("bob", Schema(), options: .making) && !mayMake("eve", schema))
        #expect(!mayMake("ada", Schema(), options: [.making, .existing]))
        #expect(throws: StorageError.self) { try opener.open("x", mayMake: false) {} }
        #expect(try journals.databaseNames == [])
        try opener.open("x") {}.close()
        let error = #expect(throws: SchemaError.self) { try opener.open("y") {} }
        #expect(error?.code == .limitExceeded)
        try opener.open("x", mayMake: false) {}.close()
        #expect(try journals.databaseNames == ["x"])
    }

    @Test func `without anybody saying so, a journal that answers again is noticed as time goes on`() async throws {
        let store = try await cluster.open(models, on: 1) { $0.sync?.urls.removeLast(2) }
        try await store.connected()
        cluster.cut(1, takingNext: true)
        try await delay("UA1", in: store)
        try await cluster.settled()
        // Nobody tells the node that it is mended but its own questions.
        try await cluster.advance(by: .seconds(60))
        cluster.mend(1)
        try await cluster.advance(by: .seconds(10))
        try await store.uploaded()
        #expect(try await delays(of: store) == ["UA1": 1])
    }

    @Test func `a group that the journal took without saying so counts once`() async throws {
        let store = try await cluster.open(models, on: 1) { $0.sync?.urls.removeLast(2) }
        try await delay("UA1", in: store)
        try await store.uploaded()
        cluster.cut(1, takingNext: true)
        try await delay("UA1", in: store)
        try await cluster.settled()
        cluster.mend(1)
        try await store.uploaded()
        let other = try await cluster.open(models, on: 2)
        #expect(try await delays(of: other) == ["UA1": 2])
    }

    @Test func `a store that is led to another node is the same client`() async throws {
        let store = try await cluster.open(models, on: 1)
        let recorder = try EventRecorder(store.objects(Flight.self))
        try await recorder.complete()
        for number in 1...6 {
            try await delay("UA1", in: store)
            cluster.route(store, to: number % 3 + 1)
        }
        // An opening on a connection that is dead already may arrive after the last one, and end its session.
        try await cluster.advance(by: .seconds(30))
        try await store.uploaded()
        try await cluster.settled()
        #expect(cluster[1].connectionCount == 1 && cluster[2].connectionCount == 0)
        #expect(try await delays(of: store) == ["UA1": 6])
        #expect(recorder.events.allSatisfy { $0.remote == nil })
        let status = try await cluster[2].database(models: models).status()
        #expect(status.version == 6)
    }

    // MARK: Histories

    @Test func `a fork that loses nothing resets nobody`() async throws {
        let store = try await cluster.open(models, on: 1)
        let recorder = try EventRecorder(store.objects(Flight.self))
        try await delay("UA1", in: store)
        try await store.uploaded()
        try await cluster.settled()
        try cluster.fork()
        try await cluster.advance(by: .seconds(10))
        try await delay("UA1", in: store)
        try await store.uploaded()
        #expect(try await delays(of: store) == ["UA1": 2])
        #expect(recorder.events.allSatisfy { $0.deletions.isEmpty && $0.remote == nil })
    }

    @Test func `whoever has seen what a fork loses starts anew, and replicas are made anew`() async throws {
        let store = try await cluster.open(models, on: 1)
        // Its opening is a group, too, and comes before those of the flights.
        #expect(try await delays(of: store).isEmpty)
        try await cluster.settled()
        let nyc = try await cluster[2].database(models: models)
        try await nyc.putFlight("UA1", delay: 1)
        try await nyc.putFlight("UA2", delay: 2)
        #expect(try await delays(of: store) == ["UA1": 1, "UA2": 2])
        try cluster.fork(losing: 1)
        try await cluster.settled()
        try await cluster.advance(by: .seconds(60))
        #expect(try await delays(of: store) == ["UA1": 1])
        for number in 1...3 {
            let other = try await cluster.open(models, on: number)
            #expect(try await delays(of: other) == ["UA1": 1])
        }
        #expect(FileManager.default.fileExists(atPath: file(of: 1) + "-foreign"))
    }

    private func file(of number: Int) -> String { cluster[number].folder + "/test.sluicedb" }

    @Test(arguments: ["damaged", "missing", "older", "another database"])
    func `a replica that is none is set aside and made anew`(_ flaw: String) async throws {
        let store = try await cluster.open(models, on: 1)
        try await delay("UA1", in: store)
        try await store.uploaded()
        let replica = file(of: 2)
        _ = try await cluster[2].database(models: models).objects(Flight.self).count()
        await cluster[2].stop()
        let older = try Data(contentsOf: URL(filePath: replica))
        try cluster[2].start()
        try await delay("UA1", in: store)
        try await store.uploaded()
        try await cluster[2].database(models: models).putFlight("UA2", delay: 5)
        await cluster[2].stop()
        switch flaw {
        case "damaged": try Data(repeating: 7, count: 20_000).write(to: URL(filePath: replica))
        case "missing": try FileManager.default.removeItem(atPath: replica)
        case "older": try older.write(to: URL(filePath: replica))
        default:
            let other = try TestServer()
            try await other.database(models: models).putFlight("XX", delay: 1)
            await other.stop()
            for suffix in ["", "-marker"] {
                try? FileManager.default.removeItem(atPath: replica + suffix)
                try FileManager.default.copyItem(
                    atPath: other.folder + "/test.sluicedb" + suffix, toPath: replica + suffix)
            }
        }
        try await cluster.restart(2)
        let nyc = try await cluster[2].database(models: models)
        let flights = try await nyc.objects(Flight.self).sorted(by: \.id).fetch()
        #expect(flights.map(\.delay) == [2, 5])
        #expect(FileManager.default.fileExists(atPath: replica))
        // An older copy has the same history, and catches up.
        #expect(FileManager.default.fileExists(atPath: replica + "-foreign-marker") == (flaw != "older"))
    }

    // MARK: Backends

    @Test func `two backends that sell one if there is one sell one`() async throws {
        let first = try await cluster[1].database(models: models)
        let second = try await cluster[2].database(models: models)
        try await first.putFlight("UA1", delay: 10)
        @Sendable func sell(in database: ServerDatabase) async throws -> Bool {
            try await database.write { transaction in
                let flight = try transaction.object(Flight.self, key: "UA1")
                guard let flight, flight.delay > 0 else { return false }
                try transaction.update(flight) { $0.delay -= 1 }
                return true
            }
        }
        let sold = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<40 { group.addTask { try await sell(in: number % 2 == 0 ? first : second) } }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(sold == 10)
        try await cluster.settled()
        for database in [first, second] { #expect(try await database.object(Flight.self, key: "UA1")?.delay == 0) }
    }

    @Test func `a backend whose journal is silent says that nobody knows`() async throws {
        let nyc = try await cluster[1].database(models: models)
        cluster.cut(1, takingNext: true)
        let unknown = await #expect(throws: ServerError.self) { try await nyc.putFlight("UA1", delay: 1) }
        #expect(unknown?.code == .outcomeUnknown)
        let refused = await #expect(throws: ServerError.self) { try await nyc.putFlight("UA2", delay: 1) }
        #expect(refused?.code == .database)
        cluster.mend(1)
        try await cluster.settled()
        #expect(try await nyc.objects(Flight.self).fetch().map(\.id) == ["UA1"])
    }

    @Test func `what a backend observes on one node is what others write on another`() async throws {
        let writer = try await cluster[1].database(models: models)
        let observer = try await cluster[2].database(models: models)
        var changes = observer.objects(Flight.self).changes.makeAsyncIterator()
        _ = try await changes.next()
        try await writer.putFlight("UA1", delay: 1)
        let change = try #require(try await changes.next())
        #expect(try change.insertions.map(\.id) == ["UA1"] && change.remote != nil)
    }
}
