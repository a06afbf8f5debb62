import Foundation
import SluiceBackend
import SluiceTesting
import TestSupport
import Testing

/// Consumers and queues that run as a user: what they read, what they write, and when their claims end, follow the user's
/// rules.
struct JobRuleTests {
    private struct Failure: Error {}

    /// Ada sees her flights. She may not change alerts of more than 90 minutes.
    private static let rules = """
        {"classes": {
            "Flight": {"read": "gate == $user.id", "create": true, "update": true, "updateAfter": true, "delete": true,
                "fields": {"due": {"read": false}, "delay": {"write": "delay < 100"}}},
            "Alert": {"read": true, "create": "delay <= 90", "update": true, "updateAfter": "delay <= 90", "delete": true},
            "Note": {"read": true, "create": true}}}
        """

    private func server(_ prepare: @escaping @Sendable (SyncServer) -> Void = { _ in }) throws -> TestServer {
        try TestServer(rules: Self.rules, prepare: prepare)
    }

    private func make(_ delays: [Int], in nyc: ServerDatabase) async throws {
        try await nyc.write { transaction in
            for (number, delay) in delays.enumerated() {
                try transaction.upsert(Flight(id: "F\(number)", delay: delay, gate: "ada"))
            }
        }
    }

    @Sendable private static func raise(_ batch: ConsumerBatch<Flight>) async throws {
        try await batch.commit { transaction in
            for item in batch.upserts {
                try transaction.upsert(Alert(flight: item.value.id, delay: item.value.delay))
            }
        }
    }

    private var failingAtOnce: Consumer<Flight>.Options {
        var options = Consumer<Flight>.Options()
        (options.attempts, options.onPoison) = (1, .stop)
        return options
    }

    // MARK: Consumers

    @Test func aBatchWhoseResultsTheRulesRefuseComesAgain() async throws {
        let server = try server()
        defer { withExtendedLifetime(server) {} }
        let nyc = try await server.database(models: models)
        try await make([95], in: nyc)
        let consumer = nyc.consumer("alerts", of: nyc.objects(Flight.self), as: "ada", options: failingAtOnce)
        await #expect { try await consumer.runOnce(Self.raise) } throws: { ($0 as? ServerError)?.code == .rejected }
        #expect(try await nyc.jobs.consumers().first?.handledCount == 0)
        #expect(try await nyc.objects(Alert.self).count() == 0)
        try await nyc.write { try $0.update(Flight(id: "F0")) { $0.delay = 61 } }
        #expect(try await consumer.runOnce(Self.raise) == 1)
        #expect(try await nyc.objects(Alert.self).count() == 1)
    }

    @Test func aBatchWhoseResultsAreTooLargeComesAgain() async throws {
        let server = try server()
        defer { withExtendedLifetime(server) {} }
        let nyc = try await server.database(models: models)
        try await make([60], in: nyc)
        let consumer = nyc.consumer("notes", of: nyc.objects(Flight.self), options: failingAtOnce)
        let text = String(repeating: "x", count: 13 << 20)
        await #expect(throws: (any Error).self) {
            try await consumer.runOnce { batch in try await batch.commit { try $0.insert(Note(text: text)) } }
        }
        #expect(try await nyc.jobs.consumers().first?.handledCount == 0)
        #expect(
            try await consumer.runOnce { batch in try await batch.commit { try $0.insert(Note(text: "short")) } } == 1)
        #expect(try await nyc.objects(Note.self).count() == 1)
    }

    @Test func aBatchThatAValidatorRefusesIsHalvedAndTheOneAtFaultParked() async throws {
        let server = try server { server in
            server.onWrite(to: Alert.self) { $0.new?.flight == "F1" ? .refuse("no alert for F1") : .accept }
        }
        defer { withExtendedLifetime(server) {} }
        let nyc = try await server.database(models: models)
        try await make([60, 61, 62], in: nyc)
        var options = Consumer<Flight>.Options()
        (options.attempts, options.backoff) = (1, .exponential(.zero, max: .zero))
        let consumer = nyc.consumer("alerts", of: nyc.objects(Flight.self), as: "ada", options: options)
        try await consumer.runOnce(Self.raise)
        #expect(try await nyc.objects(Alert.self).sorted(by: \.flight).fetch().map(\.flight) == ["F0", "F2"])
        let letters = try await nyc.jobs.deadLetters(ofConsumer: "alerts")
        #expect(letters.map(\.object) == [Flight(id: "F1").identity])
        #expect(letters.first?.error.contains("no alert for F1") == true)
    }

    @Test func aConsumerWhoseUserMayNotReadWhatItAsksEndsWithTheReason() async throws {
        let server = try server()
        defer { withExtendedLifetime(server) {} }
        let nyc = try await server.database(models: models)
        try await make([60], in: nyc)
        let due = nyc.objects(Flight.self).filter("due != NULL")
        await #expect {
            try await nyc.consumer("due", of: due, as: "ada").runOnce(Self.raise)
        } throws: { ($0 as? ServerError)?.code == .rejected && "\($0)".contains("due") && "\($0)".contains("ada") }
    }

    // MARK: Queues

    @Test func aRowThatLeavesWhatTheUserMayReadIsDone() async throws {
        let server = try server()
        defer { withExtendedLifetime(server) {} }
        let nyc = try await server.database(models: models)
        try await make([60, 60], in: nyc)
        let queue = nyc.queue("gates", of: nyc.objects(Flight.self).where { $0.delay == 60 }, as: "ada")
        let done = try await queue.runOnce { flight, _ in
            { transaction in try transaction.update(Flight(id: flight.id)) { $0.gate = "bob" } }
        }
        #expect(done == 2)
        #expect(try await queue.dead().isEmpty)
        #expect(try await nyc.jobs.queues().allSatisfy { $0.claimCount == 0 })
    }

    @Test func aRowWhoseEndTheRulesRefuseIsTriedAgain() async throws {
        let server = try server()
        let nyc = try await server.database(models: models)
        try await make([120], in: nyc)
        var options = WorkQueue<Flight>.Options()
        options.backoff = .exponential(.seconds(10), max: .seconds(10))
        let queue = nyc.queue("late", of: nyc.objects(Flight.self).where { $0.delay > 60 }, as: "ada", options: options)
        let attempts = Guarded<[Int]>([])
        @Sendable func work(_ flight: Flight, _ claim: WorkQueue<Flight>.Claim) -> WorkQueue<Flight>.Completion {
            attempts.withLock { $0.append(claim.attempt) }
            return { transaction in try transaction.update(Flight(id: flight.id)) { $0.delay = 1 } }
        }
        #expect(try await queue.runOnce { work($0, $1) } == 0)
        #expect(try await nyc.object(Flight.self, key: "F0")?.delay == 120)
        try await nyc.write { try $0.update(Flight(id: "F0")) { $0.delay = 70 } }
        try await server.advance(by: .seconds(13))
        #expect(try await queue.runOnce { work($0, $1) } == 1)
        #expect(attempts.withLock { $0 } == [1, 2])
        #expect(try await nyc.object(Flight.self, key: "F0")?.delay == 1)
    }

    @Test func aRowThatAValidatorMakesMatchStillIsNotDone() async throws {
        let server = try server { server in
            server.onWrite(to: Flight.self) { write in try write.amended { $0.delay = 60 } }
        }
        defer { withExtendedLifetime(server) {} }
        let nyc = try await server.database(models: models)
        try await make([60], in: nyc)
        var options = WorkQueue<Flight>.Options()
        options.attempts = 1
        let queue = nyc.queue(
            "late", of: nyc.objects(Flight.self).where { $0.delay == 60 }, as: "ada", options: options)
        let done = try await queue.runOnce { flight, _ in
            { transaction in try transaction.update(Flight(id: flight.id)) { $0.delay = 1 } }
        }
        #expect(done == 0)
        #expect(try await queue.dead().first?.error.contains("still matches") == true)
        #expect(try await nyc.object(Flight.self, key: "F0")?.delay == 60)
    }

    @Test func aRowThatTheUserLosesMeanwhileIsLetGo() async throws {
        let server = try server()
        defer { withExtendedLifetime(server) {} }
        let nyc = try await server.database(models: models)
        try await make([60], in: nyc)
        let queue = nyc.queue("late", of: nyc.objects(Flight.self).where { $0.delay == 60 }, as: "ada")
        let done = try await queue.runOnce { flight, _ in
            try await nyc.write { try $0.update(Flight(id: flight.id)) { $0.gate = "bob" } }
            return { transaction in
                try transaction.update(Flight(id: flight.id)) { $0.delay = 1 }
                try transaction.insert(Note(text: "done"))
            }
        }
        // What she may not read any more is not there for her, and what she wrote beside it counts.
        #expect(done == 1)
        #expect(try await nyc.object(Flight.self, key: "F0")?.delay == 60)
        #expect(try await nyc.objects(Note.self).count() == 1)
        #expect(try await nyc.jobs.queues().allSatisfy { $0.claimCount == 0 })
    }
}
