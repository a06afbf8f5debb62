import Foundation
import SluiceModel
import SluiceStorage
import SluiceTesting
import SluiceWire
import TestSupport
import Testing

@testable import SluiceServer

/// How many turns somebody waits who asks little beside others that ask much. A turn is bounded in steps.
@Suite(.ownThread) struct FairnessTests {
    /// Who asks much.
    enum Crowd: CaseIterable {
        /// One user on many connections.
        case oneUser
        /// Nobody in particular, at one address.
        case oneAddress
        /// Many users.
        case manyUsers

        func holder(_ number: Int) -> Holder {
            switch self {
            case .oneUser: .user("eve")
            case .oneAddress: .address("192.0.2.1")
            case .manyUsers: .user("eve \(number)")
            }
        }
    }

    /// An engine over a file, whose mailbox and work beside the writer the test drives turn by turn.
    private final class Bench {
        let engine: DatabaseEngine
        let limits: DatabaseLimits
        private let folder: URL
        private var mailbox = Mailbox()
        private var holders: [SessionID: Holder] = [:]
        /// What is done beside the writer, and how many turns it still takes.
        private var beside: [(preparation: QueryPreparation, turnCount: Int)] = []
        private(set) var turn = 0
        private(set) var turnStepCountMax = 0
        /// In which turn each subscription became complete.
        private(set) var completed: [SessionID: [UInt64: Int]] = [:]
        /// How many turns one piece of work beside the writer takes.
        static let besideTurnCount = 4

        init(planeCount: Int64 = 1_000) throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let storage = try SQLiteServerStorage.open(
                .file(folder.path + "/planes"), databaseID: ObjectID(high: 7, low: 7))
            var limits = DatabaseLimits()
            limits.shareStepCountMax = 2_000
            limits.turnStepCountMax = 6_000
            limits.startStepCount = 20
            limits.sentRowStepCount = 10
            limits.sharedPageStepCount = 100
            limits.pageRowCount = 50
            self.limits = limits
            var state: UInt64 = 0
            engine = DatabaseEngine(name: "planes", storage: storage, limits: limits) {
                state += 1
                return state
            }
            let writer = try open(1, .user("writer"))
            let operations = (0..<planeCount).map { key in
                ObjectOperation(
                    ObjectRef(0, .int(key)),
                    .create([
                        FieldOperation(1, .set(.int(key % 100))), FieldOperation(2, .set(.link(.int((key + 1) % 9)))),
                    ]))
            }
            let changeset = Changeset(
                sequence: 1, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1), operations: operations)
            post(.messages(writer, [.upload(session: 1, changesets: [changeset])]), of: writer)
            try run { false }
        }

        deinit { try? FileManager.default.removeItem(at: folder) }

        func open(_ connection: UInt64, _ holder: Holder) throws -> SessionID {
            let id = SessionID(connection: connection, session: 1)
            holders[id] = holder
            let schema = try Schema([
                ClassSchema(
                    "Plane", primaryKey: "id",
                    properties: [
                        Property("id", .scalar(.int)), Property("seats", .scalar(.int)),
                        Property("next", .link("Plane")),
                    ])
            ])
            let request = ClientMessage.Open(session: 1, path: "planes", schema: schema)
            post(.open(id, request, User(id: nil, mayExtendSchema: true), of: holder), of: id)
            return id
        }

        func subscribe(_ id: SessionID, _ queries: [String]) {
            let requests = queries.enumerated().map { index, query in
                ClientMessage.subscribe(.init(session: 1, subscription: UInt64(index) + 1, query: query))
            }
            post(.messages(id, requests), of: id)
        }

        private func post(_ event: DatabaseEvent, of id: SessionID) {
            mailbox.add(event, byteCount: 100, of: holders[id])
        }

        /// One turn, as a worker takes it.
        func takeTurn() throws {
            turn += 1
            let events = mailbox.takeTurn()
            try take(engine.handle(events, now: Timestamp(microseconds: 1)))
            noteSteps()
            if engine.hasWork {
                try take(engine.step(now: Timestamp(microseconds: 1)))
                noteSteps()
            }
            beside = beside.map { ($0.preparation, $0.turnCount - 1) }
            for (preparation, _) in beside.filter({ $0.turnCount <= 0 }) {
                preparation.run()
                mailbox.add(.prepared(preparation), byteCount: 0)
            }
            beside.removeAll { $0.turnCount <= 0 }
            while let work = engine.takePreparation() ?? engine.takeReading() {
                beside.append((work, Self.besideTurnCount))
            }
        }

        /// Takes turns until there is nothing left to do, or a condition holds.
        func run(until condition: () -> Bool) throws {
            for _ in 0..<5_000 {
                guard engine.hasWork || !mailbox.isEmpty || !beside.isEmpty, !condition() else { return }
                try takeTurn()
            }
            Issue.record("no end in \(turn) turns")
        }

        private func noteSteps() {
            turnStepCountMax = max(turnStepCountMax, limits.turnStepCountMax - engine.budget.stepCountLeft)
        }

        private func take(_ actions: [DatabaseAction]) throws {
            for action in actions {
                let (frame, connections): ([UInt8], [UInt64]) =
                    switch action {
                    case .send(let frame, let connection): (frame, [connection])
                    case .broadcast(let frame, let connections), .offer(let frame, let connections):
                        (frame, connections)
                    case .consult: ([], [])
                    case .end: ([], [])
                    }
                guard !frame.isEmpty else { continue }
                let messages = try Frame.decode(frame, as: ServerMessage.self)
                for id in connections.map({ SessionID(connection: $0, session: 1) }) {
                    var pageCount: UInt64 = 0
                    for message in messages {
                        if case .page = message { pageCount += 1 }
                        if case .complete(let complete) = message {
                            completed[id, default: [:]][complete.subscription] = turn
                        }
                    }
                    // Everybody takes pages as they come.
                    if pageCount > 0 { post(.messages(id, [.credit(session: 1, pages: pageCount)]), of: id) }
                }
            }
        }
    }

    /// The queries of one of those who ask much: each sorts all, and takes more than a share of a turn.
    private static func much(_ number: Int, count: Int) -> [String] {
        (0..<count).map { "Plane WHERE seats * \(number * count + $0 + 1) >= 0 SORT(seats ASC)" }
    }

    /// - Returns: in how many turns each query of somebody else is complete.
    private static func turnCounts(
        _ crowd: Crowd, sessionCount: Int, queryCount: Int, of queries: [String]
    ) throws -> (counts: [Int], stepCountMax: Int) {
        let bench = try Bench()
        for number in 0..<sessionCount {
            let id = try bench.open(UInt64(number) + 10, crowd.holder(number))
            bench.subscribe(id, much(number, count: queryCount))
        }
        for _ in 0..<20 { try bench.takeTurn() }
        var counts: [Int] = []
        for (number, query) in queries.enumerated() {
            let begin = bench.turn
            let ada = try bench.open(UInt64(number) + 5, .user("ada"))
            bench.subscribe(ada, [query])
            try bench.run { bench.completed[ada]?[1] != nil }
            counts.append((bench.completed[ada]?[1] ?? .max) - begin)
            let doneCount = bench.completed.filter { $0.key.connection >= 10 }.reduce(0) { $0 + $1.value.count }
            #expect(doneCount < sessionCount * queryCount, "the others have finished")
        }
        return (counts, bench.turnStepCountMax)
    }

    @Test(arguments: Crowd.allCases, [4, 16])
    func whoAsksLittleHasItInTheSameTurnsHoweverManyAskMuch(crowd: Crowd, sessionCount: Int) throws {
        let (counts, stepCountMax) = try Self.turnCounts(
            crowd, sessionCount: sessionCount, queryCount: 12,
            of: ["Plane WHERE id == 12", "Plane WHERE id == 13", "Plane WHERE id IN {3, 4, 5}"])
        #expect(counts.allSatisfy { $0 <= 2 }, "\(counts)")
        // Work that has begun is finished, and what was made beside the writer is begun.
        let limits = try Bench(planeCount: 1).limits
        #expect(stepCountMax <= limits.turnStepCountMax + 3 * limits.shareStepCountMax)
    }

    @Test(arguments: Crowd.allCases, [4, 16])
    func whoAsksForPagesOrACostlyQueryWaitsForOneOfTheOthersAndNotForAll(crowd: Crowd, sessionCount: Int) throws {
        let (counts, _) = try Self.turnCounts(
            crowd, sessionCount: sessionCount, queryCount: 12,
            of: ["Plane WHERE id < 300", "Plane WHERE seats * 7 == 63"])
        // Six pages of 50, each read beside the writer after one of others; a view that is made after another's, its
        // roots, and its pages. Of many users each has the same share, so it is after one of each of them.
        let othersCount = crowd == .manyUsers ? sessionCount : 1
        #expect(counts[0] <= 6 * 3 * Bench.besideTurnCount * othersCount, "\(counts)")
        #expect(counts[1] <= 8 * Bench.besideTurnCount * othersCount, "\(counts)")
    }

    @Test func nobodySavesUpAndNobodyPaysForWhatNobodyElseWanted() {
        var clock = FairClock()
        let (ada, eve) = (Holder.user("ada"), Holder.user("eve"))
        // Eve alone takes much: her turns go on.
        for _ in 0..<10 {
            clock.serve(eve)
            clock.charge(1_000, to: eve)
        }
        // Ada comes anew: she comes first, and does not get all that Eve had.
        var order: [Holder] = []
        for _ in 0..<6 {
            let next = clock.start(of: ada) <= clock.start(of: eve) ? ada : eve
            order.append(next)
            clock.serve(next)
            clock.charge(1_000, to: next)
        }
        #expect(order.first == ada)
        // Of one piece of work each, at the most.
        #expect(abs(order.count { $0 == ada } - order.count { $0 == eve }) <= 2)
        clock.rest()
        #expect(clock.start(of: ada) == clock.start(of: eve))
    }

    /// Over any time, those who always wait have had the same, up to what one of them takes at once.
    @Test(arguments: 0..<20) func sharesAreEqualInStepsWhateverEachTakesAtOnce(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        var queue = FairQueue<Int>()
        var clock = FairClock()
        let costs = (0..<5).map { _ in Int.random(in: 1...1_000, using: &generator) }
        var sums = [Int](repeating: 0, count: costs.count)
        for holder in costs.indices {
            // On several sessions each.
            for number in 0..<15_000 {
                queue.append(
                    holder, of: SessionID(connection: UInt64(holder * 10 + number % (holder + 1)), session: 1),
                    .user("\(holder)"))
            }
        }
        while sums.max()! < 15 * costs.max()! {
            guard let holder = queue.next(by: &clock, where: { _ in true }) else { break }
            sums[holder] += costs[holder]
            clock.charge(costs[holder], to: .user("\(holder)"))
            #expect(sums.max()! - sums.min()! <= 2 * costs.max()!, "\(sums) \(costs)")
        }
    }
}
