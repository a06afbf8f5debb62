import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

/// A bootstrap of a hundred planes, ten in each page, while others write and the client reads slowly.
@Suite struct BootstrapPacingTests {
    private static let planeCount = Int64(100)

    private final class Bench {
        let storage: SQLiteServerStorage
        let engine: DatabaseEngine
        private let writer = SessionID(connection: 1, session: 1)
        let reader = SessionID(connection: 2, session: 1)
        private var sequence: UInt64 = 0
        /// The messages that the reader was sent.
        private(set) var received: [ServerMessage] = []
        private(set) var endedSessions: [SessionID] = []

        init(_ configure: (inout DatabaseLimits) -> Void = { _ in }) throws {
            storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 7, low: 7))
            var limits = DatabaseLimits()
            limits.pageRowCount = 10
            limits.server.pageCreditMax = 2
            configure(&limits)
            var state: UInt64 = 0
            engine = DatabaseEngine(name: "planes", storage: storage, limits: limits) {
                state += 1
                return state
            }
            let schema = try Schema([
                ClassSchema(
                    "Plane", primaryKey: "id",
                    properties: [Property("id", .scalar(.int)), Property("seats", .scalar(.int))])
            ])
            for id in [writer, reader] {
                let open = ClientMessage.Open(session: 1, path: "planes", schema: schema)
                try handle(.open(id, open, User(id: nil, mayExtendSchema: true)))
            }
            try write(0..<planeCount, seats: 1)
        }

        func handle(_ event: DatabaseEvent) throws {
            try take(engine.handle([event], now: Timestamp(microseconds: 1)))
            while engine.hasWork { try take(engine.step(now: Timestamp(microseconds: 1))) }
        }

        private func take(_ actions: [DatabaseAction]) throws {
            for action in actions {
                switch action {
                case .send(let frame, to: 2): received += try Frame.decode(frame, as: ServerMessage.self)
                case .broadcast(let frame, let connections) where connections.contains(2):
                    received += try Frame.decode(frame, as: ServerMessage.self)
                case .consult: break
                case .end(let id, _): endedSessions.append(id)
                case .send, .broadcast, .offer: break
                }
            }
        }

        func write(_ keys: some Sequence<Int64>, seats: Int64) throws {
            try upload(
                keys.map { ObjectOperation(ObjectRef(0, .int($0)), .create([FieldOperation(1, .set(.int(seats)))])) })
        }

        func delete(_ key: Int64) throws { try upload([ObjectOperation(ObjectRef(0, .int(key)), .delete)]) }

        private func upload(_ operations: [ObjectOperation]) throws {
            sequence += 1
            let changeset = Changeset(
                sequence: sequence, baseVersion: storage.version,
                timestamp: HybridTimestamp(microseconds: Int64(sequence)), operations: operations)
            try handle(.messages(writer, [.upload(session: 1, changesets: [changeset])]))
        }

        func subscribe() throws {
            received = []
            try handle(.messages(reader, [.subscribe(.init(session: 1, subscription: 1, query: "Plane"))]))
        }

        /// Grants credit for one more page.
        func credit() throws { try handle(.messages(reader, [.credit(session: 1, pages: 1)])) }

        var pages: [ServerMessage.Page] { received.compactMap { if case .page(let page) = $0 { page } else { nil } } }
        var isComplete: Bool { received.contains { if case .complete = $0 { true } else { false } } }

        /// The seats of the planes that the reader has, by key.
        var seats: [ObjectKey: Value] {
            var seats: [ObjectKey: Value] = [:]
            for message in received {
                let blocks: [ViewBlock] =
                    switch message {
                    case .page(let page): [page.content]
                    case .commit(let commit): commit.blocks.map(\.content)
                    default: []
                    }
                for block in blocks {
                    for departure in block.departures { seats[departure.object.key] = nil }
                    for row in block.objects.rows { seats[row.object.key] = row.values.last }
                }
            }
            return seats
        }

        var storedSeats: [ObjectKey: Value] {
            get throws {
                var seats: [ObjectKey: Value] = [:]
                for key in 0..<planeCount * 2 {
                    seats[.int(key)] = try storage.row(ObjectRef(0, .int(key)))?.values[1]
                }
                return seats
            }
        }
    }

    @Test func noMorePagesTravelThanThereIsCreditWhateverChangedBehindThem() throws {
        let bench = try Bench()
        try bench.subscribe()
        #expect(bench.pages.count == 2)
        try bench.write(0..<Self.planeCount, seats: 2)
        try bench.delete(3)
        var creditCount = 2
        while !bench.isComplete {
            try #require(creditCount < 100)
            #expect(bench.pages.count == creditCount)
            try bench.credit()
            creditCount += 1
        }
        // Ten pages of planes, and ten more of what was written meanwhile.
        #expect(bench.pages.count == 20)
        #expect(try bench.seats == bench.storedSeats)
    }

    @Test func whatChangesBetweenAllPagesIsCompleteInTheEnd() throws {
        let bench = try Bench()
        try bench.subscribe()
        var round: Int64 = 2
        while !bench.isComplete {
            try #require(round < 100)
            try bench.write(0..<Self.planeCount, seats: round)
            if round % 7 == 0 { try bench.delete(round) }
            try bench.credit()
            round += 1
        }
        #expect(try bench.seats == bench.storedSeats)
        try bench.write([5, 150], seats: 1000)
        #expect(try bench.seats == bench.storedSeats)
    }

    @Test func aClientThatTakesNoPagesWhileMuchChangesIsSentAwayAndMayComeAgain() throws {
        let bench = try Bench { $0.touchedObjectCountMax = 50 }
        try bench.subscribe()
        for key in 0..<Int64(50) { try bench.write([key], seats: 2) }
        #expect(bench.endedSessions.isEmpty)
        try bench.write([50], seats: 2)
        #expect(bench.endedSessions == [bench.reader])
        guard case .error(let failure)? = bench.received.last else {
            Issue.record("no error came")
            return
        }
        #expect(failure.code == .overloaded)
        #expect(failure.action == .retry)
        // The engine keeps nothing for it any more.
        try bench.write(0..<Self.planeCount, seats: 3)
        #expect(bench.endedSessions.count == 1)
    }

    @Test func aSubscriptionThatIsCompleteOrGoneTakesNoRoomForWhatOthersHaveToBeSent() throws {
        let bench = try Bench { $0.touchedObjectCountMax = 50 }
        for subscription in 1...10 as ClosedRange<UInt64> {
            try bench.handle(
                .messages(
                    bench.reader, [.subscribe(.init(session: 1, subscription: subscription, query: "Plane"))]))
            try bench.write(0..<Int64(40), seats: Int64(subscription))
            if subscription % 2 == 0 {
                try bench.handle(.messages(bench.reader, [.unsubscribe(session: 1, subscription: subscription)]))
            } else {
                for _ in 0..<20 { try bench.credit() }
            }
        }
        #expect(bench.endedSessions.isEmpty)
    }
}
