#if PostgreSQL

import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

@testable import SluicePostgres

/// An engine over a database in memory, on a journal that it shares with others, and its answers.
final class EngineNode {
    let storage: SQLiteServerStorage
    let engine: DatabaseEngine
    let journal: PostgresJournal
    private var connection: UInt64 = 0
    private let now = Timestamp(microseconds: 1_000)
    private let schema: Schema

    /// - Parameter seed: what random numbers begin with.
    init(_ node: PostgresJournals, seed: UInt64) throws {
        journal = try node.open()
        storage = try SQLiteServerStorage.open(.memory, databaseID: journal.databaseID)
        schema = try Schema([
            ClassSchema(
                "Plane", primaryKey: "id",
                properties: [Property("id", .scalar(.int)), Property("seats", .scalar(.int))])
        ])
        var state = seed
        engine = DatabaseEngine(name: "planes", storage: storage, journal: journal, limits: DatabaseLimits()) {
            state += 1
            return state
        }
    }

    @discardableResult
    func handle(_ events: [DatabaseEvent]) throws -> [ServerMessage] {
        try engine.handle(events, now: now).flatMap { action in
            switch action {
            case .send(let frame, _), .broadcast(let frame, _), .offer(let frame, _):
                try Frame.decode(frame, as: ServerMessage.self)
            case .end, .consult: [ServerMessage]()
            }
        }
    }

    /// Applies what the journal has beyond this engine.
    @discardableResult
    func follow() throws -> [ServerMessage] {
        try handle([.follow(journal.records(after: storage.head.position, countMax: .max))])
    }

    func open(_ identity: ClientIdentity? = nil) throws -> (id: SessionID, opened: ServerMessage.Opened) {
        connection += 1
        let id = SessionID(connection: connection, session: 1)
        let open = ClientMessage.Open(
            session: 1, path: "planes", identity: identity, version: 0, acknowledged: 0, options: [], schema: schema)
        let messages = try handle([.open(id, open, User(id: nil, mayExtendSchema: true))])
        let opened = messages.compactMap { if case .opened(let opened) = $0 { opened } else { nil } }
        return (id, try #require(opened.last))
    }

    /// Uploads a transaction that adds a seat to plane 1.
    ///
    /// - Returns: what is acknowledged by it.
    @discardableResult
    func addSeat(_ id: SessionID, _ sequence: UInt64) throws -> [UInt64] {
        try answers(toAddingSeat: sequence, id).compactMap {
            if case .commit(let commit) = $0 { commit.header.acknowledged } else { nil }
        }
    }

    /// Uploads the same, and returns all that is sent because of it.
    func answers(toAddingSeat sequence: UInt64, _ id: SessionID) throws -> [ServerMessage] {
        let changeset = Changeset(
            sequence: sequence, baseVersion: 0, timestamp: HybridTimestamp(microseconds: Int64(sequence)),
            operations: [ObjectOperation(ObjectRef(0, .int(1)), .create([FieldOperation(1, .add(.int(1)))]))])
        return try handle([.messages(id, [.upload(session: id.session, changesets: [changeset])])])
    }

    var seats: Value? { get throws { try storage.row(ObjectRef(0, .int(1)))?.values[1] } }
}

#endif
