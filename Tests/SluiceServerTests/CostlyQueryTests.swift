import Foundation
import SluiceJSON
import SluiceModel
import SluiceStorage
import SluiceWire
import TestSupport
import Testing

@testable import SluiceServer

/// Queries that need more than a share of a turn run beside the writer, so that nobody else waits for them.
@Suite(.ownThread) struct CostlyQueryTests {
    /// An engine over a database in a file, with sessions that the test drives.
    private final class Bench {
        static let planeCount = Int64(1_000)
        let engine: DatabaseEngine
        let storage: SQLiteServerStorage
        private let folder: URL
        private var sequence: UInt64 = 0
        private(set) var received: [UInt64: [ServerMessage]] = [:]
        /// The largest number of steps that a turn took.
        private(set) var turnStepCountMax = 0
        let limits: DatabaseLimits

        init() throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            storage = try SQLiteServerStorage.open(
                .file(folder.path + "/planes"), databaseID: ObjectID(high: 7, low: 7))
            var limits = DatabaseLimits()
            limits.shareStepCountMax = 2_000
            limits.turnStepCountMax = 6_000
            limits.sentRowStepCount = 10
            limits.pageRowCount = 50
            self.limits = limits
            var state: UInt64 = 0
            engine = DatabaseEngine(name: "planes", storage: storage, limits: limits) {
                state += 1
                return state
            }
            let schema = try Schema([
                ClassSchema(
                    "Plane", primaryKey: "id",
                    properties: [
                        Property("id", .scalar(.int)), Property("seats", .scalar(.int)),
                        Property("next", .link("Plane")),
                    ])
            ])
            for connection in 1...3 as ClosedRange<UInt64> {
                let open = ClientMessage.Open(session: 1, path: "planes", schema: schema)
                try handle(.open(session(connection), open, User(id: nil, mayExtendSchema: true)))
            }
            try write(0..<Self.planeCount, seats: 1)
        }

        deinit { try? FileManager.default.removeItem(at: folder) }

        func session(_ connection: UInt64) -> SessionID { SessionID(connection: connection, session: 1) }

        func handle(_ event: DatabaseEvent) throws {
            try take(engine.handle([event], now: Timestamp(microseconds: 1)))
        }

        /// Makes the engine do all that it can do before the preparation under way ends.
        func work() throws {
            while engine.hasWork { try step() }
        }

        func step() throws {
            try take(engine.step(now: Timestamp(microseconds: 1)))
            while let reading = engine.takeReading() {
                reading.run()
                try handle(.prepared(reading))
            }
        }

        private func take(_ actions: [DatabaseAction]) throws {
            turnStepCountMax = max(turnStepCountMax, limits.turnStepCountMax - engine.budget.stepCountLeft)
            for action in actions {
                switch action {
                case .send(let frame, let connection):
                    received[connection, default: []] += try Frame.decode(frame, as: ServerMessage.self)
                case .broadcast(let frame, let connections), .offer(let frame, let connections):
                    for connection in connections {
                        received[connection, default: []] += try Frame.decode(frame, as: ServerMessage.self)
                    }
                case .consult: break
                case .end: break
                }
            }
        }

        func write(_ keys: some Sequence<Int64>, seats: Int64) throws {
            sequence += 1
            let operations = keys.map { key in
                ObjectOperation(
                    ObjectRef(0, .int(key)),
                    .create([
                        FieldOperation(1, .set(.int(seats))), FieldOperation(2, .set(.link(.int((key + 1) % 9)))),
                    ]))
            }
            let changeset = Changeset(
                sequence: sequence, baseVersion: storage.version,
                timestamp: HybridTimestamp(microseconds: Int64(sequence)), operations: operations)
            try handle(.messages(session(1), [.upload(session: 1, changesets: [changeset])]))
        }

        func subscribe(_ connection: UInt64, _ queries: [String], from number: UInt64 = 1) throws {
            let requests = queries.enumerated().map { index, query in
                ClientMessage.subscribe(.init(session: 1, subscription: number + UInt64(index), query: query))
            }
            try handle(.messages(session(connection), requests))
        }

        func completed(_ connection: UInt64) -> Set<UInt64> {
            Set(
                (received[connection] ?? []).compactMap {
                    if case .complete(let complete) = $0 { complete.subscription } else { nil }
                })
        }

        /// The seats of the objects that a connection with one subscription has.
        func seats(_ connection: UInt64) -> [ObjectKey: Value] {
            var seats: [ObjectKey: Value] = [:]
            for message in received[connection] ?? [] {
                let blocks: [ViewBlock] =
                    switch message {
                    case .page(let page): [page.content]
                    case .commit(let commit): commit.blocks.map(\.content)
                    default: []
                    }
                for block in blocks {
                    for departure in block.departures { seats[departure.object.key] = nil }
                    for row in block.objects.rows { seats[row.object.key] = row.values[safe: 1] ?? row.values.last }
                }
            }
            return seats
        }
    }

    /// One query of each kind: a scan that finds few, a window, a chain, linked objects, an order over everything.
    private static let costly = [
        "Plane WHERE seats * 7 == 63 OR seats * 11 == 99", "Plane WHERE seats > 1 SORT(seats DESC, id) LIMIT(40)",
        "Plane WHERE seats > 1 DISTINCT(id)", "Plane WHERE seats * 3 == 27",
        "Plane WHERE seats * 5 == 45 SORT(seats)",
    ]

    @Test(arguments: costly)
    func aCostlyQueryLeavesTheWriterFreeAndSeesWhatWasWrittenMeanwhile(query: String) throws {
        let bench = try Bench()
        try bench.write(0..<20, seats: 9)
        try bench.subscribe(2, [query])
        try bench.work()
        var preparation = try #require(bench.engine.takePreparation())
        #expect(bench.completed(2).isEmpty)
        // Without preparations, others would have waited until here.
        try bench.write(10..<30, seats: 9)
        try bench.write(0..<5, seats: 1)
        try bench.subscribe(3, ["Plane WHERE id == 12"])
        try bench.work()
        #expect(bench.completed(3) == [1])
        var count = 0
        while true {
            preparation.run()
            try bench.write([30 + Int64(count)], seats: 9)
            try bench.handle(.prepared(preparation))
            try bench.work()
            count += 1
            guard let next = bench.engine.takePreparation() else { break }
            preparation = next
        }
        #expect(bench.completed(2) == [1])
        let expected = Set((5..<(30 + Int64(count))).map { ObjectKey.int($0) })
        let found = bench.seats(2).filter { $0.value == .int(9) }
        #expect(Set(found.keys) == expected, "\(query)")
    }

    /// A total is counted beside the writer, with what is written meanwhile, and by one window for those of other lengths
    /// and orders.
    @Test func aTotalIsCountedBesideTheWriterAndOnceForAllWindowsOfItsCondition() throws {
        let bench = try Bench()
        func totals(_ connection: UInt64) -> [Value?] {
            (bench.received[connection] ?? []).flatMap { message -> [Value?] in
                switch message {
                case .complete(let complete): [complete.figures?.first]
                case .commit(let commit): commit.figures.map(\.values.first)
                default: []
                }
            }
        }
        let condition = "Plane WHERE seats * 7 == 7"
        try bench.subscribe(2, ["\(condition) SORT(id) LIMIT(2) TOTAL"])
        try bench.work()
        let preparation = try #require(bench.engine.takePreparation())
        try bench.write(0..<5, seats: 2)
        preparation.run()
        try bench.handle(.prepared(preparation))
        try bench.work()
        #expect(totals(2) == [.int(995)])

        try bench.subscribe(3, ["\(condition) SORT(id DESC) LIMIT(0) TOTAL", "\(condition) LIMIT(0) TOTAL"])
        try bench.work()
        // To count them again would take a preparation.
        #expect(bench.engine.takePreparation() == nil)
        #expect(totals(3) == [.int(995), .int(995)])
        try bench.write(900..<901, seats: 2)
        #expect(totals(2).last == .int(994) && totals(3).last == .int(994))
        // Once nobody counts any more, the next one does.
        for connection in [2, 3] as [UInt64] { try bench.handle(.closed(bench.session(connection))) }
        #expect(bench.engine.hub.filedCount == 0)
    }

    @Test func hundredsOfCostlyQueriesInOneFrameHoldUpNobody() throws {
        let bench = try Bench()
        try bench.subscribe(2, (1...300).map { "Plane WHERE seats * \($0) == 3" })
        // The work that has begun is finished: one check of the limit, and one row that is sent.
        let bound = bench.limits.turnStepCountMax + bench.limits.shareStepCountMax
        #expect(bench.turnStepCountMax <= bound)
        try bench.subscribe(3, ["Plane WHERE id == 12"])
        try bench.step()
        try bench.step()
        #expect(bench.completed(3) == [1])
        try bench.write(0..<1, seats: 3)
        let acknowledged = (bench.received[1] ?? []).contains {
            if case .commit(let commit) = $0 { commit.header.acknowledged == 2 } else { false }
        }
        #expect(acknowledged)
        var preparationCount = 0
        var stepCount = 0
        while bench.completed(2).count < 300, stepCount < 10_000 {
            stepCount += 1
            try bench.handle(.messages(bench.session(2), [.credit(session: 1, pages: 8)]))
            try bench.step()
            guard let preparation = bench.engine.takePreparation() else { continue }
            preparation.run()
            preparationCount += 1
            try bench.handle(.prepared(preparation))
        }
        #expect(bench.completed(2).count == 300 && preparationCount >= 300)
        #expect(bench.turnStepCountMax <= bound)
    }

    @Test func sessionsHaveTheirTurnsOneAfterTheOther() {
        var queue = FairQueue<Int>()
        var clock = FairClock()
        let sessions = (1...3).map { SessionID(connection: $0, session: 1) }
        for number in 1...3 { queue.append(number, of: sessions[0], .session(sessions[0])) }
        queue.append(4, of: sessions[1], .session(sessions[1]))
        queue.append(5, of: sessions[2], .session(sessions[2]))
        queue.append(6, of: sessions[2], .session(sessions[2]))
        queue.removeAll(of: sessions[2]) { $0 == 5 }
        var order: [Int] = []
        while let next = queue.next(by: &clock, where: { _ in true }) { order.append(next) }
        #expect(order == [1, 4, 6, 2, 3] && queue.isEmpty)
    }

    @Test func whatNobodyAsksForAnyMoreIsGivenUp() throws {
        let bench = try Bench()
        try bench.subscribe(2, [Self.costly[1], Self.costly[2]])
        try bench.work()
        let first = try #require(bench.engine.takePreparation())
        try bench.handle(.messages(bench.session(2), [.unsubscribe(session: 1, subscription: 1)]))
        first.run()
        guard case .failed(let error as StorageError) = first.outcome else {
            Issue.record("the query ran")
            return
        }
        #expect(error.code == .cancelled)
        try bench.handle(.prepared(first))
        try bench.work()
        let second = try #require(bench.engine.takePreparation())
        try bench.handle(.closed(bench.session(2)))
        second.run()
        try bench.handle(.prepared(second))
        #expect(!bench.engine.hasWork && bench.completed(2).isEmpty)
    }

    /// Of a hundred views a few can be counted in the steps of a report; it has the others without a count.
    @Test func aReportOfCostsComesHoweverLongItTakesToCountRows() throws {
        let bench = try Bench()
        for start in [0, 50] as [UInt64] {
            let queries = (1...50 as ClosedRange<UInt64>).map { "Plane WHERE seats * \(1 + start + $0) == 63" }
            try bench.subscribe(2, queries, from: 1 + start)
            try bench.work()
            while let preparation = bench.engine.takePreparation() {
                preparation.run()
                try bench.handle(.prepared(preparation))
                try bench.work()
            }
        }
        let request = ClientMessage.ReportRequest(session: 1, request: 9, topic: .top)
        try bench.handle(.messages(bench.session(3), [.reportRequest(request)]))
        guard case .report(_, request: 9, let json)? = bench.received[3]?.last else {
            Issue.record("\(String(describing: bench.received[3]?.last))")
            return
        }
        let report = try JSONParser.parse(String(decoding: json, as: UTF8.self))
        let rows = try #require(report["queries"]?.array).map { $0["rows"] }
        #expect(rows.count == 100)
        #expect(rows.contains(.null) && rows.first != .null)
    }

    /// Each view searches a long text at each commit; all together would take minutes.
    @Test func theViewsOfASessionTakeABoundedShareOfACommit() throws {
        var limits = DatabaseLimits()
        limits.upkeepStepCountMax = 400_000
        limits.incompleteCountMax = 100
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 7, low: 7))
        let engine = DatabaseEngine(name: "notes", storage: storage, limits: limits) { 1 }
        let schema = try Schema([
            ClassSchema(
                "Note", primaryKey: "id",
                properties: [Property("id", .scalar(.int)), Property("text", .scalar(.string))])
        ])
        let (writer, reader) = (SessionID(connection: 1, session: 1), SessionID(connection: 2, session: 1))
        for id in [writer, reader] {
            let open = ClientMessage.Open(session: 1, path: "notes", schema: schema)
            _ = engine.handle(
                [.open(id, open, User(id: nil, mayExtendSchema: true))], now: Timestamp(microseconds: 1))
        }
        let requests = (1...100 as ClosedRange<UInt64>).map { number in
            ClientMessage.subscribe(
                .init(session: 1, subscription: number, query: "Note WHERE text LIKE '*?\(number)b*'"))
        }
        _ = engine.handle([.messages(reader, requests)], now: Timestamp(microseconds: 1))
        while engine.hasWork { _ = engine.step(now: Timestamp(microseconds: 1)) }
        let text = String(repeating: "a", count: 100_000)
        let changeset = Changeset(
            sequence: 1, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1),
            operations: [ObjectOperation(ObjectRef(0, .int(1)), .create([FieldOperation(1, .set(.string(text)))]))])
        let actions = engine.handle(
            [.messages(writer, [.upload(session: 1, changesets: [changeset])])], now: Timestamp(microseconds: 1))
        let rejections = try actions.flatMap { action -> [ServerMessage] in
            if case .send(let frame, to: 2) = action { try Frame.decode(frame, as: ServerMessage.self) } else { [] }
        }
        // One search takes some 12,500 steps.
        #expect((60...75).contains(rejections.count))
        #expect(engine.subscriptions[reader]?.subscriptions.count == 100 - rejections.count)
    }
}

extension Array {
    fileprivate subscript(safe index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}
