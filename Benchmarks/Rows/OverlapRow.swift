import Dispatch
import Foundation
import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import Synchronization

/// B2: the commits of one writer while ten clients bootstrap a query of their own each. The floor is the same engine
/// with the pages read by the writer.
struct OverlapRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func measure() throws -> [Measurement] {
        let rowCount = workbench.options.size(300_000, quick: 20_000)
        var ours: [Run] = []
        var floor: [Run] = []
        for _ in 0..<workbench.options.size(3, quick: 1) {
            ours.append(try run(rowCount, pageReaderCount: 2))
            floor.append(try run(rowCount, pageReaderCount: 0))
        }
        func measurement(
            _ name: String, _ unit: String, _ goal: Measurement.Goal, _ value: (Run) -> Double
        ) -> Measurement {
            Measurement(
                .overlap, "\(name) while 10 clients bootstrap \(Double(rowCount).shown) flights",
                ours: ours.map(value), floor: floor.map(value), unit: unit, goal: goal)
        }
        return [
            measurement("commits", "1/s", .ratioAtLeast(2)) { Double($0.waits.count) / $0.seconds },
            measurement("median time of a commit", "ms", .ratioAtMost(0.5)) { $0.waits.median * 1e3 },
            measurement("longest time of a commit", "ms", .none) { ($0.waits.max() ?? 0) * 1e3 },
            measurement("time of the bootstraps", "s", .none) { $0.seconds },
        ]
    }

    private struct Run {
        /// The seconds from each upload to its acknowledgement.
        var waits: [Double] = []
        var seconds = 0.0
    }

    private func run(_ rowCount: Int, pageReaderCount: Int) throws -> Run {
        var limits = DatabaseLimits()
        limits.pageReaderCount = pageReaderCount
        let storage = try SQLiteServerStorage.open(
            .file(workbench.freshPath("overlap")), databaseID: ObjectID(high: 7, low: 7))
        let engine = DatabaseEngine(name: "flights", storage: storage, limits: limits) { 1 }
        defer { engine.close() }
        let writer = try FlightWriter(engine, rowCount: rowCount)
        let readers = try (2..<12 as Range<UInt64>).map { try writer.open($0) }
        let inbox = Inbox()
        for id in readers {
            let query = "Flight WHERE delay > -\(id.connection)"
            inbox.post(.messages(id, [.subscribe(.init(session: 1, subscription: 1, query: query))]))
        }
        var run = Run()
        let clock = ContinuousClock()
        let start = clock.now
        var sentAt = start
        inbox.post(writer.nextUpload())
        let aside = DispatchQueue(label: "bench.aside", attributes: .concurrent)
        while inbox.completeCount < readers.count {
            let events = inbox.take(waits: !engine.hasWork)
            var actions = events.isEmpty ? [] : engine.handle(events, now: Timestamp(microseconds: 1))
            if engine.hasWork { actions += engine.step(now: Timestamp(microseconds: 1)) }
            while let work = engine.takePreparation() ?? engine.takeReading() {
                aside.async {
                    work.run()
                    inbox.post(.prepared(work))
                }
            }
            for action in actions {
                guard case .send(let frame, let connection) = action else { continue }
                if connection == 1 {
                    run.waits.append((clock.now - sentAt) / .seconds(1))
                    sentAt = clock.now
                    inbox.post(writer.nextUpload())
                } else {
                    aside.async { inbox.receive(frame, SessionID(connection: connection, session: 1)) }
                }
            }
        }
        run.seconds = (clock.now - start) / .seconds(1)
        aside.sync(flags: .barrier) {}
        return run
    }
}

/// Fills a database with flights, and changes one after the other.
private final class FlightWriter {
    private let engine: DatabaseEngine
    private let rowCount: Int
    private var sequence: UInt64 = 0

    init(_ engine: DatabaseEngine, rowCount: Int) throws {
        self.engine = engine
        self.rowCount = rowCount
        let id = try open(1)
        for first in stride(from: 0, to: rowCount, by: 2_000) {
            let operations = (first..<min(rowCount, first + 2_000)).map { number in
                let fields = (1..<10).map { FieldOperation($0, .set(.int(Int64(number * $0 % 977)))) }
                return ObjectOperation(ObjectRef(0, .int(Int64(number))), .create(fields))
            }
            _ = engine.handle([.messages(id, [upload(operations)])], now: Timestamp(microseconds: 1))
        }
    }

    func open(_ connection: UInt64) throws -> SessionID {
        let names = ["id", "delay"] + (1...8).map { "column\($0)" }
        let schema = try Schema([
            ClassSchema("Flight", primaryKey: "id", properties: names.map { Property($0, .scalar(.int)) })
        ])
        let id = SessionID(connection: connection, session: 1)
        let open = ClientMessage.Open(session: 1, path: "flights", schema: schema)
        _ = engine.handle([.open(id, open, User(id: nil, mayExtendSchema: true))], now: Timestamp(microseconds: 1))
        return id
    }

    private func upload(_ operations: [ObjectOperation]) -> ClientMessage {
        sequence += 1
        let changeset = Changeset(
            sequence: sequence, baseVersion: sequence, timestamp: HybridTimestamp(microseconds: Int64(sequence)),
            operations: operations)
        return .upload(session: 1, changesets: [changeset])
    }

    /// A transaction that changes one flight.
    func nextUpload() -> DatabaseEvent {
        let key = Int64(Int(sequence) * 7_919 % rowCount)
        let operation = ObjectOperation(
            ObjectRef(0, .int(key)), .update([FieldOperation(2, .set(.int(Int64(sequence))))]))
        return .messages(SessionID(connection: 1, session: 1), [upload([operation])])
    }
}

/// The events that wait for the engine, and what its clients have.
private final class Inbox: Sendable {
    private let events = Mutex<[DatabaseEvent]>([])
    private let complete = Atomic<Int>(0)
    private let arrivals = DispatchSemaphore(value: 0)

    var completeCount: Int { complete.load(ordering: .relaxed) }

    func post(_ event: DatabaseEvent) {
        events.withLock { $0.append(event) }
        arrivals.signal()
    }

    func take(waits: Bool) -> [DatabaseEvent] {
        if waits { arrivals.wait() }
        return events.withLock { events in
            defer { events = [] }
            return events
        }
    }

    /// Takes a frame as a client does: each page gives credit for another.
    func receive(_ frame: [UInt8], _ id: SessionID) {
        for message in (try? Frame.decode(frame, as: ServerMessage.self)) ?? [] {
            switch message {
            case .page: post(.messages(id, [.credit(session: 1, pages: 1)]))
            case .complete:
                complete.add(1, ordering: .relaxed)
                post(.messages(id, [.credit(session: 1, pages: 1)]))
            default: break
            }
        }
    }
}
