import SluiceModel
import SluiceQuery
import SluiceServer
import SluiceStorage
import SluiceViews
import SluiceWire
import Testing

/// Counts what a returning client is sent. There are a thousand flights, each of one of a hundred planes.
@Suite struct ResumeTests {
    private static let plane = 0
    private static let flight = 1

    /// The answer to a subscription.
    private struct Answer {
        var messages: [ServerMessage] = []
        /// The size of all frames together.
        var byteCount = 0

        var pages: [ServerMessage.Page] { messages.compactMap { if case .page(let page) = $0 { page } else { nil } } }
        var rows: [BlockRow] { pages.flatMap(\.content.objects.rows) }
        var departures: [ViewBlock.Departure] { pages.flatMap(\.content.departures) }
        var complete: ServerMessage.Complete? {
            messages.compactMap { if case .complete(let complete) = $0 { complete } else { nil } }.last
        }
        var isAsked: Bool { messages.contains { if case .listMembers = $0 { true } else { false } } }
    }

    private final class Bench {
        let storage: SQLiteServerStorage
        let engine: DatabaseEngine
        private var connection: UInt64 = 0
        private var writer: SessionID?
        private var sequence: UInt64 = 0

        init() throws {
            storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 7, low: 7))
            var state: UInt64 = 0
            engine = DatabaseEngine(name: "flights", storage: storage) {
                state += 1
                return state
            }
            var operations = (0..<100).map { Self.create(ObjectRef(plane, .int($0)), .int(100 + $0 % 50)) }
            for id in Int64(0)..<1_000 {
                operations.append(Self.create(ObjectRef(flight, .int(id)), .int(id), .link(.int(id % 100))))
            }
            try write(operations)
        }

        private static func create(_ object: ObjectRef, _ values: Value...) -> ObjectOperation {
            ObjectOperation(
                object, .create(values.enumerated().map { FieldOperation($0.offset + 1, .set($0.element)) }))
        }

        func open() throws -> SessionID {
            connection += 1
            let id = SessionID(connection: connection, session: 1)
            let schema = try Schema([
                ClassSchema(
                    "Plane", primaryKey: "id",
                    properties: [Property("id", .scalar(.int)), Property("seats", .scalar(.int))]),
                ClassSchema(
                    "Flight", primaryKey: "id",
                    properties: [
                        Property("id", .scalar(.int)), Property("delay", .scalar(.int)),
                        Property("plane", .link("Plane")),
                    ]),
            ])
            let open = ClientMessage.Open(session: 1, path: "flights", schema: schema)
            _ = engine.handle([.open(id, open, User(id: nil, mayExtendSchema: true))], now: Timestamp(microseconds: 1))
            return id
        }

        func write(_ operations: [ObjectOperation]) throws {
            let id = try writer ?? open()
            writer = id
            sequence += 1
            let changeset = Changeset(
                sequence: sequence, baseVersion: storage.version,
                timestamp: HybridTimestamp(microseconds: Int64(sequence)), operations: operations)
            _ = try say(id, .upload(session: 1, changesets: [changeset]))
        }

        func set(_ object: ObjectRef, _ property: Int, _ value: Value) throws {
            try write([ObjectOperation(object, .update([FieldOperation(property, .set(value))]))])
        }

        func say(_ id: SessionID, _ messages: ClientMessage...) throws -> Answer {
            var answer = Answer()
            func take(_ actions: [DatabaseAction]) throws {
                for case .send(let frame, to: id.connection) in actions {
                    answer.byteCount += frame.count
                    answer.messages += try Frame.decode(frame, as: ServerMessage.self)
                }
            }
            try take(engine.handle([.messages(id, messages)], now: Timestamp(microseconds: 1)))
            while engine.hasWork {
                try take(engine.step(now: Timestamp(microseconds: 1)))
                try take(
                    engine.handle([.messages(id, [.credit(session: 1, pages: 8)])], now: Timestamp(microseconds: 1)))
            }
            return answer
        }

        func trimLog() throws { _ = try storage.trimLog(keepingVersions: 0, keepingBytes: 0, entriesMax: .max) }
    }

    /// A client that followed a query and went away.
    private struct Absentee {
        let bench: Bench
        let query: String
        let version: UInt64
        var members: [ObjectRef: RowRole] = [:]

        init(_ bench: Bench, _ query: String) throws {
            self.bench = bench
            self.query = query
            let id = try bench.open()
            let answer = try bench.say(id, .subscribe(.init(session: 1, subscription: 1, query: query)))
            for row in answer.rows { members[row.object] = row.role }
            version = try #require(answer.complete?.version)
            _ = bench.engine.handle([.closed(id)], now: Timestamp(microseconds: 1))
        }

        /// Makes the client come back, and list its members if the server asks for them.
        func comeBack(digest: ObjectID? = nil) throws -> (answer: Answer, wasAsked: Bool) {
            let id = try bench.open()
            let hash = try Query.parse(query, schema: bench.storage.schema).hash
            let resume = ClientMessage.Resume(
                version: version, queryHash: hash, memberCount: UInt64(members.count), digest: digest)
            let answer = try bench.say(
                id, .subscribe(.init(session: 1, subscription: 1, query: query, resume: resume)))
            guard answer.isAsked else { return (answer, false) }
            var content = ObjectBlock()
            for (object, role) in members.sorted(by: { $0.key < $1.key }) {
                content.append(object, version: version, role: role)
            }
            let list = ClientMessage.members(
                .init(session: 1, subscription: 1, isContinued: false, content: content))
            return (try bench.say(id, list), true)
        }
    }

    private static let queries = [
        "Flight SORT(delay ASC) LIMIT(500) EXCLUDE(plane)", "Flight WHERE delay >= 0",
        "Flight WHERE plane.seats >= 100 EXCLUDE(plane)", "Flight WHERE plane.seats >= 100 SORT(delay DESC) LIMIT(900)",
        "Flight EXCLUDE(plane)",
    ]

    @Test(arguments: queries, [false, true])
    func oneChangedRowOfAThousandIsAllThatIsSent(query: String, isLogLost: Bool) throws {
        let bench = try Bench()
        let absentee = try Absentee(bench, query)
        #expect(absentee.members.count >= 500)
        try bench.set(ObjectRef(Self.flight, .int(300)), 1, .int(300_000 % 499))
        if isLogLost { try bench.trimLog() }
        let (answer, wasAsked) = try absentee.comeBack()
        #expect(wasAsked == isLogLost)
        #expect(answer.rows.map(\.object) == [ObjectRef(Self.flight, .int(300))])
        #expect(answer.departures.isEmpty)
        #expect(answer.complete?.kind == .resumed && answer.complete?.version == bench.storage.version)
        #expect(answer.byteCount < 100)
    }

    @Test(arguments: queries, [false, true])
    func whenNothingChangedACompletionIsAllThatIsSent(query: String, isLogLost: Bool) throws {
        let bench = try Bench()
        let absentee = try Absentee(bench, query)
        try bench.write([ObjectOperation(ObjectRef(Self.plane, .int(5_000)), .create([]))])
        if isLogLost { try bench.trimLog() }
        let (answer, wasAsked) = try absentee.comeBack()
        #expect(wasAsked == isLogLost)
        #expect(answer.pages.isEmpty)
        #expect(answer.complete?.kind == .resumed)
        #expect(answer.byteCount < 30)
    }

    @Test func anEqualDigestCompletesWithoutTheLogAndAnotherDoesNot() throws {
        let bench = try Bench()
        let absentee = try Absentee(bench, "Flight SORT(delay ASC) LIMIT(500)")
        let digest = try #require(try absentee.comeBack().answer.complete?.digest)
        try bench.write([ObjectOperation(ObjectRef(Self.plane, .int(5_000)), .create([]))])
        try bench.trimLog()
        let equal = try absentee.comeBack(digest: digest)
        #expect(!equal.wasAsked && equal.answer.pages.isEmpty && equal.answer.complete?.digest == digest)
        #expect(equal.answer.byteCount < 50)
        try bench.set(ObjectRef(Self.flight, .int(7)), 1, .int(-1))
        try bench.trimLog()
        let other = try absentee.comeBack(digest: digest)
        #expect(other.wasAsked && other.answer.rows.count == 1 && other.answer.complete?.digest != digest)
    }

    @Test func aListedPlainViewGetsADigestOfAllOfIt() throws {
        let bench = try Bench()
        let absentee = try Absentee(bench, "Flight WHERE delay < 500")
        try bench.set(ObjectRef(Self.flight, .int(7)), 1, .int(8))
        try bench.trimLog()
        let query = try Query.parse(absentee.query, schema: bench.storage.schema)
        var expected = try #require(ViewDigest(query, schema: bench.storage.schema))
        for id in Int64(0)..<500 {
            let row = try #require(try bench.storage.row(ObjectRef(Self.flight, .int(id))))
            expected.add(row, of: Self.flight, isRoot: true)
        }
        for id in Int64(0)..<100 {
            let row = try #require(try bench.storage.row(ObjectRef(Self.plane, .int(id))))
            expected.add(row, of: Self.plane, isRoot: false)
        }
        #expect(try absentee.comeBack().answer.complete?.digest == expected.digest)
    }

    @Test(arguments: [false, true])
    func whatEnteredAndLeftAWindowIsNamedWithTheReasons(isLogLost: Bool) throws {
        let bench = try Bench()
        let absentee = try Absentee(bench, "Flight WHERE delay < 800 SORT(delay ASC) LIMIT(500)")
        func flight(_ id: Int64) -> ObjectRef { ObjectRef(Self.flight, .int(id)) }
        try bench.write([ObjectOperation(flight(10), .delete)])
        try bench.set(flight(20), 1, .int(900))
        try bench.set(flight(30), 1, .int(700))
        try bench.set(flight(600), 1, .int(-1))
        if isLogLost { try bench.trimLog() }
        let (answer, _) = try absentee.comeBack()
        let reasons = Dictionary(uniqueKeysWithValues: answer.departures.map { ($0.object, $0.reason) })
        #expect(reasons == [flight(10): .deleted, flight(20): .filter, flight(30): .window])
        #expect(Set(answer.rows.map(\.object)) == [flight(500), flight(501), flight(600)])
        #expect(answer.rows.allSatisfy { $0.role == .root && Array($0.properties) == [0, 1, 2] })
    }

    @Test(arguments: [false, true])
    func aPlaneThatNoFlightLeadsToLeavesAndTheNewOneComes(isLogLost: Bool) throws {
        let bench = try Bench()
        let absentee = try Absentee(bench, "Flight WHERE id < 100")
        try bench.write([ObjectOperation(ObjectRef(Self.plane, .int(777)), .create([]))])
        try bench.set(ObjectRef(Self.flight, .int(7)), 2, .link(.int(777)))
        if isLogLost { try bench.trimLog() }
        let (answer, _) = try absentee.comeBack()
        #expect(answer.departures.map(\.object) == [ObjectRef(Self.plane, .int(7))])
        let roles = Dictionary(uniqueKeysWithValues: answer.rows.map { ($0.object.key, $0.role) })
        #expect(roles.count == 2 && roles[.int(777)] == .linked && roles[.int(7)] != .linked)
    }

    @Test func clientsThatStoodAtTheSameVersionAreToldTheSame() throws {
        let bench = try Bench()
        let query = "Flight SORT(delay ASC) LIMIT(100)"
        let absentee = try Absentee(bench, query)
        try bench.set(ObjectRef(Self.flight, .int(3)), 1, .int(-5))
        let first = try absentee.comeBack().answer
        #expect(first.messages == (try absentee.comeBack().answer.messages))
        try bench.set(ObjectRef(Self.flight, .int(4)), 1, .int(-6))
        #expect(try absentee.comeBack().answer.rows.count == 2)
        #expect(bench.engine.statistics.starts[.replayed] == 3)
    }

    @Test func membersThatNobodyAskedForOrThatCannotBeEndTheSession() throws {
        let bench = try Bench()
        let absentee = try Absentee(bench, "Flight LIMIT(5)")
        try bench.trimLog()
        try bench.set(ObjectRef(Self.flight, .int(3)), 1, .int(-5))
        try bench.trimLog()
        let hash = try Query.parse(absentee.query, schema: bench.storage.schema).hash
        func answer(to objects: [ObjectRef], isAsked: Bool = true) throws -> Answer {
            let id = try bench.open()
            let resume = ClientMessage.Resume(version: absentee.version, queryHash: hash, memberCount: 5)
            let question = try bench.say(
                id,
                .subscribe(.init(session: 1, subscription: 1, query: absentee.query, resume: isAsked ? resume : nil)))
            #expect(question.isAsked == isAsked)
            var content = ObjectBlock()
            for object in objects { content.append(object, version: 1, role: .root) }
            return try bench.say(
                id, .members(.init(session: 1, subscription: 1, isContinued: false, content: content)))
        }
        func isViolation(_ answer: Answer) -> Bool {
            answer.messages.contains { message in
                if case .error(let failure) = message { failure.code == .protocolViolation } else { false }
            }
        }
        #expect(try isViolation(answer(to: [], isAsked: false)))
        #expect(try isViolation(answer(to: [ObjectRef(9, .int(1))])))
        #expect(try isViolation(answer(to: [ObjectRef(Self.flight, .string("one"))])))
        #expect(try isViolation(answer(to: (0..<6).map { ObjectRef(Self.flight, .int($0)) })))
        #expect(try !isViolation(answer(to: (0..<5).map { ObjectRef(Self.flight, .int($0)) })))
    }
}
