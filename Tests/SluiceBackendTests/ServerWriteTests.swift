import SluiceBackend
import SluiceTesting
import TestSupport
import Testing

/// What the server's own process writes, and who hears of it.
struct ServerWriteTests {
    private let server: TestServer

    init() throws { server = try TestServer(workerID: "worker-1") }

    @Test func aWriteReachesClientsWithTheAuthorServer() async throws {
        let store = try await server.open(models)
        let recorder = try EventRecorder(store.objects(Flight.self))
        try await recorder.complete()
        let nyc = try await server.database(models: models)
        try await nyc.putFlight("UA1", delay: 75)

        let change = try await recorder.event { !$0.insertions.isEmpty }
        #expect(Array(change.results) == [Flight(id: "UA1", delay: 75)])
        #expect(change.remote?.userID == "server")
        #expect(change.remote?.workerID == "worker-1")
        #expect(change.remote?.operations == [.create])

        try await nyc.write { transaction in
            try transaction.update(Flight(id: "UA1")) { $0.gate = "B7" }
            try transaction.increment(Flight(id: "UA1"), \.delay, by: 5)
        }
        let update = try await recorder.event { !$0.modifications.isEmpty }
        #expect(Array(update.results) == [Flight(id: "UA1", delay: 80, gate: "B7")])
        #expect(update.remote?.operations == [.set, .add])
        try await nyc.write { try $0.delete(Flight.self, key: "UA1") }
        let deletion = try await recorder.event { !$0.deletions.isEmpty }
        #expect(deletion.removals.map(\.reason) == [.deleted])
    }

    @Test func theServerHasWhatItsOwnWriteReturned() async throws {
        let store = try await server.open(models)
        let nyc = try await server.database(models: models)
        let receipt = try await nyc.write { transaction in
            try transaction.insert(Flight(id: "UA1", delay: 75))
            return transaction.receipt
        }
        try await store.uploaded(receipt, timeout: .seconds(60))
    }

    @Test func whatWasWrittenIsReadAtOnceAndKeptAfterARestart() async throws {
        let nyc = try await server.database(models: models)
        for number in 1...20 {
            try await nyc.putFlight("F\(number)", delay: number)
            #expect(try await nyc.object(Flight.self, key: "F\(number)")?.delay == number)
            #expect(try await nyc.objects(Flight.self).count() == number)
        }
        let late = try await nyc.objects(Flight.self).where { $0.delay > 15 }.sorted(by: \.delay, ascending: false)
            .limit(3).fetch()
        #expect(late.map(\.id) == ["F20", "F19", "F18"])
        #expect(try await nyc.objects(Flight.self).sorted(by: \.delay).first()?.id == "F1")

        try await server.restart()
        let after = try await server.database(models: models)
        #expect(try await after.objects(Flight.self).count() == 20)
        #expect(try await after.status().version == 20)
    }

    @Test func aTransactionAsksQueriesThatFindWhatItHasWritten() async throws {
        let nyc = try await server.database(models: models)
        for number in 1...5 { try await nyc.putFlight("F\(number)", delay: number) }
        let versionBefore = try await nyc.status().version
        let found = try await nyc.write { transaction in
            let late = transaction.objects(Flight.self).where { $0.delay >= 3 }.sorted(by: \.delay, ascending: false)
            #expect(try late.fetch().map(\.id) == ["F5", "F4", "F3"])
            try transaction.insert(Flight(id: "F9", delay: 9))
            try transaction.update(Flight(id: "F1")) { $0.delay = 7 }
            try transaction.delete(Flight.self, key: "F4")
            #expect(try late.fetch().map(\.id) == ["F9", "F1", "F5", "F3"])
            #expect(try late.count() == 4)
            #expect(try late.first()?.id == "F9")
            #expect(try transaction.update(all: late.limit(2)) { $0.gate = "B1" } == 2)
            #expect(try transaction.delete(all: transaction.objects(Flight.self).where { $0.delay == 2 }) == 1)
            #expect(try transaction.records("Flight WHERE gate == 'B1'").count() == 2)
            return late
        }
        #expect(throws: StoreError.self) { try found.fetch() }
        let flights = try await nyc.objects(Flight.self).sorted(by: \.id).fetch()
        #expect(flights.map(\.id) == ["F1", "F3", "F5", "F9"])
        #expect(flights.map(\.gate) == ["B1", nil, nil, "B1"])
        #expect(try await nyc.status().version == versionBefore + 1)
    }

    @Test func whatATransactionWroteOnTrialIsGoneWhenItThrows() async throws {
        struct Changed: Error {}
        let nyc = try await server.database(models: models)
        try await nyc.putFlight("F1", delay: 1)
        await #expect(throws: Changed.self) {
            try await nyc.write { transaction in
                try transaction.insert(Flight(id: "F2", delay: 2))
                #expect(try transaction.objects(Flight.self).count() == 2)
                throw Changed()
            }
        }
        #expect(try await nyc.objects(Flight.self).fetch().map(\.id) == ["F1"])
        try await nyc.putFlight("F2", delay: 3)
        #expect(try await nyc.objects(Flight.self).count() == 2)
    }

    @Test func aTransactionReadsWhatItWroteAndLeavesNothingWhenItThrows() async throws {
        struct Changed: Error {}
        let nyc = try await server.database(models: models)
        try await nyc.putFlight("UA1", delay: 1)
        await #expect(throws: Changed.self) {
            try await nyc.write { transaction in
                try transaction.insert(Flight(id: "UA2"))
                try transaction.update(Flight(id: "UA1")) { $0.delay = 2 }
                try transaction.delete(Flight.self, key: "UA1")
                #expect(try transaction.object(Flight.self, key: "UA1") == nil)
                try transaction.insert(Flight(id: "UA1", delay: 3))
                #expect(try transaction.object(Flight.self, key: "UA1")?.delay == 3)
                #expect(try transaction.object(Flight.self, key: "UA2") != nil)
                throw Changed()
            }
        }
        #expect(try await nyc.objects(Flight.self).fetch() == [Flight(id: "UA1", delay: 1)])
        #expect(try await nyc.status().version == 1)
        let error = await #expect(throws: StoreError.self) {
            try await nyc.write { try $0.insert(Flight(id: "UA1")) }
        }
        #expect(error?.code == .objectExists)
    }

    @Test func noOtherTransactionComesBetweenReadingAndWriting() async throws {
        let nyc = try await server.database(models: models)
        try await nyc.putFlight("UA1", delay: 0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<25 {
                        try await nyc.write { transaction in
                            let delay = try transaction.object(Flight.self, key: "UA1")?.delay ?? 0
                            try transaction.update(Flight(id: "UA1")) { $0.delay = delay + 1 }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await nyc.object(Flight.self, key: "UA1")?.delay == 200)
        // A transaction that reads alone makes no version.
        let delay = try await nyc.write { try $0.object(Flight.self, key: "UA1")?.delay }
        #expect(delay == 200)
        #expect(try await nyc.status().version == 201)
    }

    @Test func recordsNeedNoSwiftType() async throws {
        let nyc = try await server.database()
        try await nyc.declare([
            ClassSchema(
                "Tower", primaryKey: "id",
                properties: [Property("id", .scalar(.int)), Property("height", .scalar(.double))])
        ])
        let tower = try #require(try await nyc.schema.classes.first)
        try await nyc.write { transaction in
            for id in 1...5 as ClosedRange<Int64> {
                try transaction.insert(Record(tower, ["id": .int(id), "height": .double(Double(id) * 10)]))
            }
            try transaction.update(Identity(className: "Tower", key: .int(2)), set: ["height": .double(99)])
        }
        let high = try await nyc.records("Tower WHERE height > 45 SORT(height DESC)").fetch()
        #expect(high.map { $0["id"] } == [.int(2), .int(5)])
        #expect(try await nyc.records(ofClass: "Tower").filter("height <= $0", 30.0).count() == 2)
    }

    @Test func linksLeadThroughTheDatabase() async throws {
        let nyc = try await server.database(models: models)
        try await nyc.write { transaction in
            try transaction.insert(Carrier(code: "UA", name: "United"))
            for number in 1...3 {
                try transaction.insert(Flight(id: "UA\(number)", carrier: Link(Carrier(code: "UA"))))
            }
            try transaction.insert(Flight(id: "XX1", carrier: Link(Carrier(code: "XX"))))
        }
        let flight = try #require(try await nyc.object(Flight.self, key: "UA1"))
        #expect(try flight.carrier?.fetch()?.name == "United")
        let carrier = try #require(try await nyc.object(Carrier.self, key: "UA"))
        #expect(try carrier.flights.count() == 3)
        // A link to what is not there keeps its place, and leads somewhere once that is there.
        let dangling = try #require(try await nyc.object(Flight.self, key: "XX1"))
        #expect(try dangling.carrier?.fetch() == nil)
        try await nyc.write { try $0.insert(Carrier(code: "XX", name: "Later")) }
        #expect(try dangling.carrier?.fetch()?.name == "Later")
        #expect(try await nyc.objects(Flight.self).where { $0.carrier.name == "Later" }.fetch().map(\.id) == ["XX1"])
    }

    @Test func rulesDoNotBindTheServersOwnProcess() async throws {
        let rules = #"{"classes": {"Flight": {"read": true}, "Alert": {"read": false}}}"#
        let server = try TestServer(rules: rules)
        let nyc = try await server.database(models: models)
        try await nyc.putFlight("UA1", delay: 1)
        try await nyc.write { try $0.insert(Alert(flight: "UA1", delay: 1)) }
        #expect(try await nyc.objects(Alert.self).count() == 1)

        let ada = try await server.open(models, user: "ada")
        #expect(try await ada.objects(Flight.self).synced(timeout: waitMax).count == 1)
        #expect(try await ada.objects(Alert.self).synced(timeout: waitMax).isEmpty)
    }

    @Test func rulesAndValidatorsBindItWhereItActsForAUser() async throws {
        let rules = #"{"classes": {"Flight": {"read": true, "create": "$user.id == \"ada\"", "update": true}}}"#
        let server = try TestServer(rules: rules) { server in
            server.onWrite(to: "Flight") { $0.new?["delay"] == .int(13) ? .refuse("unlucky") : .accept }
        }
        let nyc = try await server.database(models: models)
        try await nyc.write(as: "ada") { try $0.insert(Flight(id: "UA1", delay: 1)) }
        let denied = await #expect(throws: ServerError.self) {
            try await nyc.write(as: "eve") { try $0.insert(Flight(id: "UA2")) }
        }
        #expect(denied?.code == .rejected && denied?.message.contains("do not let this user create") ?? false)
        let refused = await #expect(throws: ServerError.self) {
            try await nyc.write(as: "eve") { try $0.update(Flight(id: "UA1")) { $0.delay = 13 } }
        }
        #expect(refused?.message.contains("unlucky") ?? false)
        #expect(try await nyc.objects(Flight.self).fetch() == [Flight(id: "UA1", delay: 1)])
        let bob = try await server.open(models, user: "bob")
        let recorder = try EventRecorder(bob.objects(Flight.self))
        try await recorder.complete()
        try await nyc.write(as: "eve") { try $0.update(Flight(id: "UA1")) { $0.delay = 2 } }
        let change = try await recorder.event { !$0.modifications.isEmpty }
        #expect(change.remote?.userID == "eve")
    }

    @Test func aClientsEarlierWriteDoesNotWinOverALaterOneOfTheServer() async throws {
        let nyc = try await server.database(models: models)
        try await nyc.putFlight("UA1", delay: 1)
        let store = try await server.open(models)
        _ = try await store.objects(Flight.self).synced(timeout: waitMax)
        let recorder = try EventRecorder(store.objects(Flight.self))
        try await recorder.complete()
        server.cut(store)
        try await store.write { try $0.update(Flight(id: "UA1")) { $0.delay = 2 } }
        server.clock.advance(by: .seconds(1))
        try await nyc.putFlight("UA1", delay: 3)
        server.clock.advance(by: .seconds(1))
        try await store.write { try $0.update(Flight(id: "UA1")) { $0.gate = "A1" } }
        server.restore(store)
        try await store.uploaded(timeout: waitMax)
        try await recorder.event { change in
            Array(change.results) == [Flight(id: "UA1", delay: 3, gate: "A1")]
        }
        #expect(try await nyc.object(Flight.self, key: "UA1") == Flight(id: "UA1", delay: 3, gate: "A1"))
    }

    @Test func namesThatCannotBeAndAStoppedServerAreClearErrors() async throws {
        let name = await #expect(throws: ServerError.self) { try await server.database("a/b", models: models) }
        #expect(name?.code == .invalidConfiguration)
        let nyc = try await server.database(models: models)
        await server.stop()
        let stopped = await #expect(throws: ServerError.self) { try await nyc.putFlight("UA1", delay: 1) }
        #expect(stopped?.code == .stopped)
        let read = await #expect(throws: ServerError.self) { try await nyc.objects(Flight.self).count() }
        #expect(read?.code == .stopped)
        await #expect(throws: SchemaError.self) {
            let other = try TestServer()
            let first = try await other.database()
            try await first.declare([
                ClassSchema("Flight", primaryKey: "id", properties: [Property("id", .scalar(.int))])
            ])
            _ = try await other.database(models: models)
        }
    }

    @Test func whatDoesNotFitTheLimitsIsRefusedAndOthersGoOn() async throws {
        let nyc = try await server.database(models: models)
        let error = await #expect(throws: StoreError.self) {
            try await nyc.write { transaction in
                for number in 0...100_000 { try transaction.insert(Note(text: "\(number)")) }
            }
        }
        #expect(error?.code == .transactionTooLarge)
        #expect(try await nyc.objects(Note.self).count() == 0)
        try await nyc.write { try $0.insert(Note(text: "one")) }
        #expect(try await nyc.objects(Note.self).count() == 1)
    }
}
