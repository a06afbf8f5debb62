import Foundation
import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import Synchronization
import Testing

/// An engine over a database file of planes and depots, driven by hand.
final class FileBench {
    static let planeCount: Int64 = 400
    static let depots: [ObjectKey: [Value]] = [.int(1): [.int(1)], .int(2): [.int(2)], .int(3): [.int(3)]]

    let storage: SQLiteServerStorage
    let engine: DatabaseEngine
    let log = Lines()
    private var connection: UInt64 = 0

    /// The lines that were logged.
    final class Lines: Sendable {
        private let lines = Mutex<[LogLine]>([])

        var errors: [LogLine] { lines.withLock { $0.filter { $0.level >= .error } } }

        /// How often a message was logged.
        func count(of message: String) -> Int { lines.withLock { $0.count { $0.message == message } } }

        var sink: LogSink { LogSink(level: .verbose) { [self] line in lines.withLock { $0.append(line) } } }
    }

    init(_ path: String) throws {
        storage = try SQLiteServerStorage.open(.file(path), databaseID: ObjectID(high: 7, low: 7))
        var state: UInt64 = 0
        engine = DatabaseEngine(name: "planes", storage: storage, log: log.sink) {
            state += 1
            return state
        }
        try engine.beginEpoch()
    }

    deinit { engine.close() }

    static func schema() throws -> Schema {
        try Schema([
            ClassSchema(
                "Plane", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("seats", .scalar(.int), isIndexed: true),
                    Property("note", .scalar(.string), isIndexed: true), Property("home", .link("Depot")),
                ]),
            ClassSchema("Depot", primaryKey: "id", properties: [Property("id", .scalar(.int))]),
        ])
    }

    static func note(_ id: Int64) -> String { "plane \(id) " + String(repeating: "x", count: 200) }

    /// The file of a database that was made by uploads and closed.
    static let whole = Result {
        var file = Data()
        try withDamageFolder { file = try make($0 + "/db") }
        return file
    }

    private static func make(_ path: String) throws -> Data {
        do {
            let bench = try FileBench(path)
            let (id, _) = try bench.open()
            let depots = depots.keys.map { ObjectOperation(ObjectRef(1, $0), .create([])) }
            var changesets = [bench.changeset(1, depots)]
            for start in stride(from: 1, through: planeCount, by: 50) {
                let operations = (start..<start + 50).map { id in
                    ObjectOperation(
                        ObjectRef(0, .int(id)),
                        .create([
                            FieldOperation(1, .set(.int(id % 50))), FieldOperation(2, .set(.string(note(id)))),
                            FieldOperation(3, .set(.link(.int(id % 3 + 1)))),
                        ]))
                }
                changesets.append(bench.changeset(UInt64(changesets.count + 1), operations))
            }
            // Earlier changes make the log long.
            for id in 1...60 as ClosedRange<Int64> {
                let same = FieldOperation(2, .set(.string(note(id))))
                let update = ObjectOperation(ObjectRef(0, .int(id)), .update([same]))
                changesets.append(bench.changeset(UInt64(changesets.count + 1), [update]))
            }
            // Each is a group of its own, so that the journal takes several pages.
            for changeset in changesets {
                _ = try bench.handle([.messages(id, [.upload(session: 1, changesets: [changeset])])])
            }
            _ = try bench.handle([.closed(id)])
        }
        return try Data(contentsOf: URL(filePath: path))
    }

    func changeset(_ sequence: UInt64, _ operations: [ObjectOperation]) -> Changeset {
        Changeset(
            sequence: sequence, baseVersion: 0, timestamp: HybridTimestamp(microseconds: Int64(sequence)),
            operations: operations)
    }

    private func messages(_ actions: [DatabaseAction]) throws -> [ServerMessage] {
        try actions.flatMap { action in
            switch action {
            case .send(let frame, _), .broadcast(let frame, _), .offer(let frame, _):
                try Frame.decode(frame, as: ServerMessage.self)
            case .consult: [ServerMessage]()
            case .end: [ServerMessage]()
            }
        }
    }

    func handle(_ events: [DatabaseEvent]) throws -> [ServerMessage] {
        try messages(engine.handle(events, now: Timestamp(microseconds: 1)))
    }

    /// Makes the engine do all of its work, in a bounded number of steps.
    func finish() throws -> [ServerMessage] {
        var answers: [ServerMessage] = []
        for _ in 0..<1_000 {
            engine.performMaintenance(now: Timestamp(microseconds: 1))
            if let preparation = engine.takePreparation() ?? engine.takeReading() {
                preparation.run()
                answers += try handle([.prepared(preparation)])
            } else if engine.hasWork {
                answers += try messages(engine.step(now: Timestamp(microseconds: 1)))
            } else {
                return answers
            }
        }
        Issue.record("the engine does not come to an end")
        return answers
    }

    func open(
        _ options: ClientMessage.Open.Options = [], identity: ClientIdentity? = nil, version: UInt64 = 0
    ) throws -> (id: SessionID, answers: [ServerMessage]) {
        connection += 1
        let id = SessionID(connection: connection, session: 1)
        let open = ClientMessage.Open(
            session: 1, path: "planes", identity: identity, version: version, options: options,
            schema: options.contains(.readOnly) ? Schema() : try Self.schema())
        return (id, try handle([.open(id, open, User(id: nil, mayExtendSchema: true))]))
    }

    /// Asks a query in a session.
    func ask(_ query: String, in id: SessionID, resume: ClientMessage.Resume? = nil) throws -> [ServerMessage] {
        let request = ClientMessage.Subscribe(session: 1, subscription: 1, query: query, resume: resume)
        return try handle([.messages(id, [.subscribe(request)])]) + finish()
    }

    /// Asks a query in a new session.
    func ask(_ query: String) throws -> [ServerMessage] {
        let (id, answers) = try open(.readOnly)
        return try answers + ask(query, in: id) + handle([.closed(id)])
    }

    /// Asks for the report on the status.
    func status(in id: SessionID) throws -> [ServerMessage] {
        try handle([.messages(id, [.reportRequest(.init(session: 1, request: 1, topic: .status))])])
    }

    /// How a request ended.
    enum Ending: Equatable {
        case complete([ObjectKey: [Value]])
        /// It was rejected for good, because the database is damaged.
        case damaged(String)
        case other(String)
        case none

        init(_ messages: [ServerMessage]) {
            var rows: [ObjectKey: [Value]] = [:]
            self = .none
            for message in messages {
                switch message {
                case .page(let page):
                    for row in page.content.objects.rows { rows[row.object.key] = row.values }
                case .complete: self = .complete(rows)
                case .subscriptionError(let error):
                    self = error.code == .databaseDamaged ? .damaged(error.message) : .other(error.message)
                case .reportError(let error):
                    self = error.code == .databaseDamaged ? .damaged(error.message) : .other(error.message)
                case .error(let error):
                    let isPermanent = error.code == .databaseDamaged && error.action != .retry
                    self = isPermanent ? .damaged(error.message) : .other(error.message)
                default: break
                }
            }
        }

        var isOfDamage: Bool { if case .damaged = self { true } else { false } }
    }
}

/// Runs `body` with a folder that is removed afterwards.
func withDamageFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.path + "/sluice-damage-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
}
