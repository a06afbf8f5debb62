import Foundation
import SluiceBackend
import SluiceTesting
import TestSupport
import Testing

/// What a user's consumer derives equals what the user may read of what its query finds, and a user's queue has worked at
/// all of it and at nothing else: whatever is written, whoever gains or loses rights meanwhile, by objects, roles, links or
/// other rules, and wherever the jobs are killed.
struct JobRuleOracleTests {
    @Test(arguments: seeds(36)) func whatIsDerivedIsWhatTheUserMayRead(seed: UInt64) async throws {
        let world = try await JobRuleWorld(seed: seed)
        for _ in 0..<20 { try await world.write() }
        for round in 0..<6 {
            try await world.consume(chance: 0.25)
            if world.chance(30) { try await world.work(chance: 0.25) }
            for _ in 0..<world.count(upTo: 6) { try await world.write() }
            switch world.count(upTo: 11) {
            case 0...1: try await world.deploy()
            case 2: try await world.restart()
            default: break
            }
            if round % 3 == 2 { try await world.check("round \(round)") }
        }
        try await world.check("the end")
        await world.end()
    }
}

/// Rules, and what they let Ada read, said in Swift.
struct JobRule: Sendable {
    let name: String
    /// The members of the file beside the rules of classes.
    let members: String
    let read: String
    var fields = "{}"
    let allows: @Sendable (Flight, _ carriers: [String: String]) -> Bool
    /// Whether she may read when a flight is due.
    var showsDue: @Sendable (_ carriers: [String: String]) -> Bool = { _ in true }

    var file: String {
        """
        {\(members) "database": {"jobs": true, "rules": "$user.id == 'root'"}, "classes": {
            "Flight": {"read": "\(read)", "update": true, "updateAfter": true, "fields": \(fields)},
            "Carrier": {"read": true}, "Note": {"read": true, "create": true},
            "Alert": {"read": true, "create": true, "update": true, "updateAfter": true, "delete": true}}}
        """
    }

    @Sendable private static func isStaff(_ carriers: [String: String]) -> Bool { carriers.values.contains("ada") }

    @Sendable private static func isOfAda(_ flight: Flight, _ carriers: [String: String]) -> Bool {
        (try? flight.carrier?.key(as: String.self)).map { carriers[$0] == "ada" } ?? false
    }

    static let all = [
        JobRule(name: "a property", members: "", read: "gate == $user.id") { flight, _ in flight.gate == "ada" },
        JobRule(
            name: "a derived set", members: #""user": {"codes": "Carrier WHERE name == $user.id"},"#,
            read: "carrier IN $user.codes", allows: isOfAda),
        JobRule(name: "behind a link", members: "", read: "carrier.name == $user.id", allows: isOfAda),
        JobRule(
            name: "a role", members: #""roles": {"staff": "ANY Carrier.name == $user.id"},"#,
            read: "$role.staff OR gate == $user.id"
        ) { flight, carriers in isStaff(carriers) || flight.gate == "ada" },
        JobRule(
            name: "a role alone", members: #""roles": {"staff": "ANY Carrier.name == $user.id"},"#, read: "$role.staff"
        ) { _, carriers in isStaff(carriers) },
        JobRule(
            name: "a hidden property", members: #""roles": {"staff": "ANY Carrier.name == $user.id"},"#,
            read: "gate != 'bob'", fields: #"{"due": {"read": "$role.staff"}}"#
        ) { flight, _ in
            flight.gate != "bob"
        } showsDue: {
            isStaff($0)
        },
    ]
}

/// A world of flights in which Ada's jobs run, in the server's process or over a store.
final class JobRuleWorld: @unchecked Sendable {
    private struct Killed: Error {}

    // Sound because one task at a time uses it.
    private let server: TestServer
    private var nyc: ServerDatabase
    private var generator: SeededGenerator
    private var rule: JobRule
    private let query: String
    private let isOverStore: Bool
    private var store: Store?
    private let label: String

    init(seed: UInt64) async throws {
        generator = SeededGenerator(seed: seed)
        let rule = JobRule.all[Int(seed % 6)]
        let query = ["delay >= 60", "TRUEPREDICATE", "delay >= 20 SORT(delay DESC) LIMIT(5)"][Int(seed / 6 % 3)]
        let isOverStore = seed / 18 % 2 == 1
        (self.rule, self.query, self.isOverStore) = (rule, query, isOverStore)
        label = "seed \(seed): \(rule.name), \(query), over a store: \(isOverStore)"
        server = try TestServer(rules: rule.file)
        nyc = try await server.database(models: models)
    }

    func end() async { await store?.close() }

    func count(upTo limit: Int) -> Int { Int.random(in: 0...limit, using: &generator) }

    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }

    private func pick<Element>(_ elements: [Element]) -> Element { elements.randomElement(using: &generator)! }

    // MARK: What happens

    func write() async throws {
        let steps = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
            (
                kind: Int.random(in: 0..<13, using: &generator),
                id: "F\(Int.random(in: 0..<16, using: &generator))",
                delay: 10 * Int.random(in: 0..<12, using: &generator), gate: pick(["ada", "bob", "C"]),
                code: pick(["X", "Y", "Z"])
            )
        }
        try await nyc.write { transaction in
            for step in steps {
                let isThere = try transaction.object(Flight.self, key: step.id) != nil
                switch step.kind {
                case 0...5:
                    try transaction.upsert(
                        Flight(
                            id: step.id, delay: step.delay, gate: step.gate, carrier: Link(key: step.code),
                            due: Date(timeIntervalSince1970: 1)))
                case 6: try transaction.delete(Flight.self, key: step.id)
                case 7 where isThere: try transaction.update(Flight(id: step.id)) { $0.gate = step.gate }
                case 8...9:
                    try transaction.upsert(Carrier(code: step.code, name: step.gate == "C" ? "bob" : step.gate))
                case 10: try transaction.delete(Carrier.self, key: step.code)
                case 11 where isThere:
                    try transaction.update(Flight(id: step.id)) { $0.carrier = Link(key: step.code) }
                default: break
                }
            }
        }
    }

    /// Other rules hold from now on, while Ada's store is connected.
    func deploy() async throws {
        rule = pick(JobRule.all)
        let root = try await server.open(models, user: "root")
        try await root.connected()
        _ = try await root.core.deploy(rules: Array(rule.file.utf8), isTrial: false, timeout: nil)
        await root.close()
    }

    func restart() async throws {
        await store?.close()
        store = nil
        try await server.restart()
        nyc = try await server.database(models: models)
    }

    // MARK: Jobs

    private func opened() async throws -> Store {
        if let store { return store }
        let opened = try await server.open(models, user: "ada")
        store = opened
        return opened
    }

    private func consumer(_ options: Consumer<Flight>.Options) async throws -> Consumer<Flight> {
        let query = QueryText(query)
        guard isOverStore else {
            return nyc.consumer("ada's", of: nyc.objects(Flight.self).filter(query), as: "ada", options: options)
        }
        let store = try await opened()
        return store.consumer("ada's", of: store.objects(Flight.self).filter(query), options: options)
    }

    /// Says now and then that the process is killed: with the error to throw, after which its task is over.
    private func fate(_ chance: Double) -> @Sendable () -> Bool {
        let random = Guarded(SeededGenerator(seed: UInt64.random(in: 0 ... .max, using: &generator)))
        return { random.withLock { Double.random(in: 0..<1, using: &$0) < chance } }
    }

    private static func killed() -> Killed {
        withUnsafeCurrentTask { $0?.cancel() }
        return Killed()
    }

    /// Lets the consumer work until it is killed or nothing is left.
    func consume(chance: Double) async throws {
        var options = Consumer<Flight>.Options()
        options.limit = Int.random(in: 1...6, using: &generator)
        (options.onPoison, options.attempts) = (.stop, 1)
        let (consumer, happens) = (try await consumer(options), fate(chance))
        let work = Task {
            try await consumer.runOnce { [self] batch in
                try await checkGiven(batch)
                if happens() { throw Self.killed() }
                if batch.isReset, let store { _ = try await store.objects(Alert.self).synced() }
                try await batch.commit { transaction in
                    if batch.isReset { try transaction.delete(all: transaction.objects(Alert.self)) }
                    for item in batch.upserts {
                        try transaction.upsert(Alert(flight: item.value.id, delay: item.value.delay))
                    }
                    for gone in batch.removals { try transaction.delete(Alert.self, key: gone.key) }
                }
                if happens() { try await write() }
                if happens() { throw Self.killed() }
            }
        }
        do { _ = try await work.value } catch is CancellationError {}
    }

    /// Lets the queue work until it is killed or nothing is left: it brings flights of more than 90 minutes down.
    func work(chance: Double) async throws {
        var options = WorkQueue<Flight>.Options()
        options.backoff = .exponential(.zero, max: .zero)
        let query = QueryText("delay >= 90 SORT(id ASC)")
        let queue: WorkQueue<Flight>
        if isOverStore {
            let store = try await opened()
            queue = store.queue("ada's", of: store.objects(Flight.self).filter(query), options: options)
        } else {
            queue = nyc.queue("ada's", of: nyc.objects(Flight.self).filter(query), as: "ada", options: options)
        }
        let (happens, isOverStore) = (fate(chance), isOverStore)
        let work = Task {
            try await queue.runOnce { [self] flight, _ in
                if happens() { throw Self.killed() }
                if happens() { try await write() }
                return { transaction in
                    if isOverStore {
                        var flight = flight
                        flight.delay = 85
                        try transaction.upsert(flight)
                    } else {
                        try transaction.update(Flight(id: flight.id)) { $0.delay = 85 }
                    }
                }
            }
        }
        do { _ = try await work.value } catch is CancellationError {}
    }

    // MARK: What must hold

    private func carriers() async throws -> [String: String] {
        Dictionary(uniqueKeysWithValues: try await nyc.objects(Carrier.self).fetch().map { ($0.code, $0.name) })
    }

    /// Everything that is given may be read, where nothing was written since it was read.
    private func checkGiven(_ batch: ConsumerBatch<Flight>) async throws {
        let carriers = try await carriers()
        let flights = try await nyc.objects(Flight.self).fetch()
        guard try await nyc.host.version() == batch.version else { return }
        let known = Dictionary(uniqueKeysWithValues: flights.map { ($0.id, $0) })
        for item in batch.upserts {
            let flight = try #require(known[item.value.id], "\(label): \(item.value.id) is not there")
            #expect(rule.allows(flight, carriers), "\(label): \(flight.id) is hidden")
            if !rule.showsDue(carriers) { #expect(item.value.due == nil, "\(label): due is hidden") }
        }
    }

    func check(_ when: String) async throws {
        try await consume(chance: 0)
        let derived = try await nyc.objects(Alert.self).fetch().map { "\($0.flight) \($0.delay)" }.sorted()
        let carriers = try await carriers()
        let readable = try await nyc.objects(Flight.self).fetch().filter { rule.allows($0, carriers) }
        var found = readable.filter { flight in
            query == "TRUEPREDICATE" || flight.delay >= (query.hasPrefix("delay >= 60") ? 60 : 20)
        }
        if query.contains("LIMIT") {
            func id(_ flight: Flight) -> ObjectID { flight.identity.objectID }
            found.sort { ($1.delay, id($0)) < ($0.delay, id($1)) }
            found = Array(found.prefix(5))
        }
        #expect(derived == found.map { "\($0.id) \($0.delay)" }.sorted(), "\(label), \(when)")
        try await checkQueue(when)
    }

    private func checkQueue(_ when: String) async throws {
        let carriers = try await carriers()
        let before = try await nyc.objects(Flight.self).fetch()
        // Rows at which a killed worker stopped are due when its lease has ended.
        try await server.advance(by: .seconds(90))
        try await work(chance: 0)
        let after = try await nyc.objects(Flight.self).sorted(by: \.id).fetch()
        let expected = before.map { flight -> Flight in
            guard flight.delay >= 90, rule.allows(flight, carriers) else { return flight }
            var flight = flight
            flight.delay = 85
            return flight
        }
        #expect(
            after.map { "\($0.id) \($0.delay)" } == expected.sorted { $0.id < $1.id }.map { "\($0.id) \($0.delay)" },
            "\(label), \(when): the queue")
    }
}
