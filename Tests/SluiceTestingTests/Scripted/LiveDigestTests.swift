import Sluice
import SluiceModel
import SluiceQuery
import SluiceServer
import SluiceStorage
import SluiceTesting
import SluiceWire
import Testing

/// A running session in which something goes wrong that no message reports.
struct LiveDigestTests {
    /// A client's engine and a database's engine, joined without a network.
    private final class Pair {
        let server: DatabaseEngine
        let client: ClientEngine
        let storage: SQLiteClientStorage
        var now = Timestamp(microseconds: 1_000_000_000)
        private var connection: ConnectionProtocol
        private static func schema() throws -> Schema {
            try Schema([
                ClassSchema(
                    "User", primaryKey: "id",
                    properties: [Property("id", .scalar(.int)), Property("age", .scalar(.int))])
            ])
        }

        init() throws {
            let clock = { Timestamp(microseconds: 1_000_000_000) }
            var state: UInt64 = 0
            server = DatabaseEngine(
                name: "users", storage: try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 7, low: 7))
            ) {
                state += 1
                return state
            }
            let storage = try SQLiteClientStorage.open(.memory)
            self.storage = storage
            let schema = try Self.schema()
            _ = try storage.transaction { try storage.merge(schema, sides: ("the store", "the models")) }
            var options = ClientOptions()
            options.databaseName = "users"
            client = try ClientEngine(storage: storage, options: options, now: clock, random: { 1 })
            connection = ConnectionProtocol(limits: ServerLimits(), login: DevelopmentLogin())
        }

        func advance(microseconds: Int64) { now = Timestamp(microseconds: now.microseconds + microseconds) }

        func connect() throws {
            client.handle(.start)
            client.handle(.opened())
            try settle()
        }

        /// Carries messages in both directions until there are none.
        func settle() throws {
            while true {
                var events: [DatabaseEvent] = []
                for case .send(let frame) in client.takeActions() {
                    for action in connection.receive(frame, now: now) {
                        switch action {
                        case .send(let frame): client.handle(.received(frame))
                        case .open(let session, _, let open, let user, _):
                            events.append(.open(SessionID(connection: 1, session: session), open, user))
                        case .deliver(let session, _, _, let messages, _):
                            events.append(.messages(SessionID(connection: 1, session: session), messages))
                        case .authenticate, .renewed, .forget, .expel: Issue.record("a login that takes time")
                        case .close(let reason): Issue.record("\(reason)")
                        }
                    }
                }
                var actions = events.isEmpty ? [] : server.handle(events, now: now)
                if server.hasWork { actions += server.step(now: now) }
                guard !events.isEmpty || !actions.isEmpty || server.hasWork else { return }
                deliver(actions)
            }
        }

        private func deliver(_ actions: [DatabaseAction]) {
            for action in actions {
                switch action {
                case .send(let frame, _), .broadcast(let frame, _), .offer(let frame, _):
                    client.handle(.received(frame))
                case .consult: break
                case .end: Issue.record("the server ended the session")
                }
            }
        }

        /// Lets more than a minute pass.
        func pass() throws {
            for _ in 0..<40 {
                advance(microseconds: 2_000_000)
                deliver(server.checkSessions(now: now))
            }
            try settle()
        }

        func row(_ id: Int64) -> ObjectRef { ObjectRef(0, .int(id)) }

        func ages(_ query: Query) throws -> [Value] { try storage.results(of: query).visible.map { $0.row.values[1] } }
    }

    enum Damage: CaseIterable {
        case changedValue, lostMember, strangeMember
    }

    /// A client with forty users of a query and an open session.
    private func pair(_ text: String) throws -> (Pair, Query) {
        let pair = try Pair()
        try pair.connect()
        try pair.client.write { writer in
            for id in 1...41 as ClosedRange<Int64> {
                try writer.insert(Row(key: .int(id), values: [.int(id), .int(id == 41 ? 0 : id + 20)]), ofClass: 0)
            }
        }
        let query = try Query.parse(text, schema: pair.storage.schema)
        _ = try pair.client.observe(query) { _ in }
        try pair.settle()
        #expect(try pair.ages(query).count == 40 && pair.storage.outboxCount == 0)
        return (pair, query)
    }

    @Test(arguments: Damage.allCases, ["User WHERE age > 0", "User WHERE age > 0 SORT(id ASC) LIMIT(50)"])
    func whatGoesWrongSilentlyInARunningSessionIsFoundAndHealed(damage: Damage, text: String) throws {
        let (pair, query) = try pair(text)
        let id = try #require(pair.storage.subscriptions.first?.id)
        let right = try pair.ages(query)
        try pair.storage.transaction {
            switch damage {
            case .changedValue:
                try pair.storage.put(Row(key: .int(7), version: 1, values: [.int(7), .int(99)]), ofClass: 0)
            case .lostMember: _ = try pair.storage.removeMember(pair.row(7), role: .root, from: id)
            case .strangeMember: _ = try pair.storage.addMember(pair.row(41), role: .root, to: id)
            }
        }
        let metrics = MetricsText()
        pair.client.onMismatch = { metrics.subscriptionDiffered() }
        try pair.pass()
        #expect(pair.client.mismatchCount == 1)
        #expect(metrics.text.contains("\nsluice_store_digest_differences_total 1\n"))
        #expect(try pair.ages(query) == right)
        let checks = pair.client.checkCount
        try pair.pass()
        #expect(pair.client.checkCount > checks && pair.client.mismatchCount == 1)
        #expect(pair.storage.subscriptions.first?.state == .complete)
    }

    @Test func pendingWritesAreNoDivergence() throws {
        let (pair, _) = try pair("User WHERE age > 0")
        try pair.client.write { try $0.update(pair.row(7), [FieldOperation(1, .add(.int(5)))]) }
        let unsent = pair.client.takeActions()
        #expect(!unsent.isEmpty)
        for _ in 0..<40 { try pair.pass() }
        #expect(pair.client.checkCount > 0 && pair.client.mismatchCount == 0)
    }

    @Test func aViewIsCheckedOnceAMinuteAtMostHoweverOftenTheServerIsAsked() throws {
        let (pair, _) = try pair("User WHERE age > 0")
        for _ in 0..<10_000 { pair.advance(microseconds: 12_000); _ = pair.server.checkSessions(now: pair.now) }
        #expect(pair.server.statistics.sentDigestCount <= 3 && pair.server.statistics.sentDigestCount >= 1)
    }
}
