import Dispatch
import Foundation
import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire

/// B3: the durable commits of one property each that a server's engine makes for several writers, each of which waits
/// for its acknowledgement before it writes again.
///
/// The engine syncs a group before it prepares the next one, and all who wrote meanwhile share that. Beside it stands
/// what it would be to overlap the two: the engine commits without syncing, one half of the writers goes on while the
/// group of the other half is being synced on a thread of its own. The floor is the engine that never syncs.
struct CommittersRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    private enum Way {
        case synced
        case overlapped
        case unsynced
    }

    func measure() throws -> [Measurement] {
        try [1, 4, 16, 64].flatMap { writerCount in
            let roundCount = workbench.options.size(1_000, quick: 200) / writerCount + 100
            var rates: [(synced: Double, overlapped: Double, unsynced: Double)] = []
            for _ in 0..<workbench.options.runCount {
                rates.append(
                    (
                        try run(writerCount, roundCount, .synced), try run(writerCount, roundCount, .overlapped),
                        try run(writerCount, roundCount, .unsynced)
                    ))
            }
            func measurement(_ title: String, _ ours: [Double]) -> Measurement {
                Measurement(
                    .committers, title, ours: ours, floor: rates.map(\.unsynced), unit: "commits/s", goal: .none)
            }
            let title = "durable commits of \(writerCount) writers that wait for each"
            return [
                measurement(title, rates.map(\.synced)),
                measurement("\(title), if syncing overlapped", rates.map(\.overlapped)),
            ]
        }
    }

    private func run(_ writerCount: Int, _ roundCount: Int, _ way: Way) throws -> Double {
        let path = workbench.freshPath("committers")
        let storage = try SQLiteServerStorage.open(
            .file(path), databaseID: ObjectID(high: 7, low: 7), durability: way == .synced ? .full : .process)
        let engine = DatabaseEngine(name: "cars", storage: storage) { 1 }
        defer { engine.close() }
        try open(writerCount, engine)
        let log = Glibc.open(path + "-wal", O_RDWR)
        defer { close(log) }
        let queue = DispatchQueue(label: "bench.sync")
        let isSynced = DispatchSemaphore(value: 1)
        let middle = way == .overlapped ? writerCount / 2 : 0
        let groups = [0..<middle, middle..<writerCount].filter { !$0.isEmpty }
        var start = ContinuousClock.now
        let warmUpCount = 50
        for round in 0..<roundCount {
            // The first rounds fill the table.
            if round == warmUpCount { start = ContinuousClock.now }
            for group in groups {
                let actions = engine.handle(group.map { upload($0, round, storage.version) }, now: Self.now)
                try check(actions.count >= group.count, is: true, "an acknowledgement for each writer")
                guard way == .overlapped else { continue }
                // The sync of the group before, whose writers come next.
                isSynced.wait()
                queue.async {
                    fdatasync(log)
                    isSynced.signal()
                }
                guard groups.count == 1 else { continue }
                isSynced.wait()
                isSynced.signal()
            }
        }
        isSynced.wait()
        isSynced.signal()
        return Double((roundCount - warmUpCount) * writerCount) / ((ContinuousClock.now - start) / .seconds(1))
    }

    private static let now = Timestamp(microseconds: 1_700_000_000_000_000)

    /// Opens a session for each writer; the first sees all that is written.
    private func open(_ writerCount: Int, _ engine: DatabaseEngine) throws {
        let properties = ["id", "views", "price"].map { Property($0, .scalar(.int)) }
        let schema = try Schema([ClassSchema("Car", primaryKey: "id", properties: properties)])
        for number in 0..<writerCount {
            let open = ClientMessage.Open(session: 1, path: "cars", schema: schema)
            let user = User(id: nil, mayExtendSchema: true)
            _ = engine.handle([.open(session(number), open, user)], now: Self.now)
        }
        let request = ClientMessage.Subscribe(session: 1, subscription: 1, query: "Car")
        _ = engine.handle([.messages(session(0), [.subscribe(request)])], now: Self.now)
        while engine.hasWork { _ = engine.step(now: Self.now) }
    }

    private func session(_ number: Int) -> SessionID { SessionID(connection: UInt64(number + 1), session: 1) }

    private func upload(_ number: Int, _ round: Int, _ version: UInt64) -> DatabaseEvent {
        let fields = [FieldOperation(1, .set(.int(Int64(round)))), FieldOperation(2, .set(.int(1)))]
        let key = ObjectKey.int(Int64((round * 64 + number) % 1_000))
        let changeset = Changeset(
            sequence: UInt64(round + 1), baseVersion: version,
            timestamp: HybridTimestamp(microseconds: Self.now.microseconds + Int64(round)),
            operations: [ObjectOperation(ObjectRef(0, key), .create(fields))])
        return .messages(session(number), [.upload(session: 1, changesets: [changeset])])
    }
}
