import SluiceModel
import SluiceQuery
import SluiceRules
import SluiceServer
import SluiceStorage
import SluiceTesting
import SluiceWire
import Testing

/// An engine over a database in memory, and its answers.
final class Bench {
    let storage: SQLiteServerStorage
    let engine: DatabaseEngine
    /// The journal as this engine reaches it; nil for its own.
    let journal: MemoryJournal?
    private var connection: UInt64 = 0

    /// - Parameters:
    ///   - conditions: what users with an id may read; see ``ReadContext/init(_:schema:)``.
    ///   - journal: the journal that the engine shares with others; nil for its own.
    ///   - seed: what random numbers begin with.
    ///   - log: where log lines go.
    ///   - rules: the file of rules that the server was started with.
    ///   - policies: the validators and resolvers.
    init(
        limits: DatabaseLimits = DatabaseLimits(), conditions: [String] = [], journal: MemoryJournal? = nil,
        seed: UInt64 = 0, log: LogSink? = nil, rules: RulesFile? = nil, policies: WritePolicies? = nil
    ) throws {
        self.journal = journal
        storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 7, low: 7))
        planeSchema = try Schema([
            ClassSchema(
                "Plane", primaryKey: "id",
                properties: [Property("id", .scalar(.int)), Property("seats", .scalar(.int))])
        ])
        var state = seed
        engine = DatabaseEngine(
            name: "planes", storage: storage, journal: journal, limits: limits, log: log,
            readContext: { user, schema in user.id == nil ? .everything : try ReadContext(conditions, schema: schema) },
            rules: rules.map { AccessRules($0) }, policies: policies
        ) {
            state += 1
            return state &* 0x9E37_79B9_7F4A_7C15
        }
    }

    /// The time of the engine's clock.
    var now = Timestamp(microseconds: 1000)

    func advance(microseconds: Int64) { now = Timestamp(microseconds: now.microseconds + microseconds) }

    func handle(_ events: [DatabaseEvent]) throws -> [ServerMessage] {
        try messages(engine.handle(events, now: now))
    }

    /// Makes the engine do all that it can do on its own.
    func work() throws -> [ServerMessage] {
        var sent: [ServerMessage] = []
        while engine.hasWork { sent += try messages(engine.step(now: now)) }
        return sent
    }

    /// Makes the engine send the digest of the next view that is due.
    func checkDigests() throws -> [ServerMessage] { try messages(engine.checkSessions(now: now)) }

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

    /// What every client declares.
    let planeSchema: Schema

    /// Opens a session on a new connection.
    func open(
        _ identity: ClientIdentity? = nil, version: UInt64 = 0, acknowledged: UInt64 = 0,
        options: ClientMessage.Open.Options = [], user: String? = nil, mayBeginRules: Bool = false
    ) throws -> (id: SessionID, opened: ServerMessage.Opened) {
        connection += 1
        let id = SessionID(connection: connection, session: 1)
        let open = ClientMessage.Open(
            session: 1, path: "planes", identity: identity, version: version, acknowledged: acknowledged,
            options: options,
            schema: options.contains(.readOnly) ? Schema() : planeSchema)
        var author = User(id: user, mayExtendSchema: true)
        author.mayBeginRules = mayBeginRules
        let messages = try handle([.open(id, open, author)])
        let opened = messages.compactMap { if case .opened(let opened) = $0 { opened } else { nil } }
        return (id, try #require(opened.last))
    }

    func upload(_ id: SessionID, _ changesets: [Changeset]) throws -> [ServerMessage] {
        try handle([.messages(id, [.upload(session: id.session, changesets: changesets)])])
    }

    func seats(_ key: Int64) throws -> Value? { try storage.row(ObjectRef(0, .int(key)))?.values[1] }

    /// A transaction that adds a seat to plane 1 and creates plane `sequence`; a bad one ends with a value of the wrong
    /// type.
    func changeset(_ sequence: UInt64, isBad: Bool = false) -> Changeset {
        let own = ObjectRef(0, .int(Int64(sequence) * 10))
        return Changeset(
            sequence: sequence, baseVersion: 0, timestamp: HybridTimestamp(microseconds: Int64(sequence)),
            operations: [
                ObjectOperation(ObjectRef(0, .int(1)), .create([FieldOperation(1, .add(.int(1)))])),
                ObjectOperation(own, .create([FieldOperation(1, .set(isBad ? .string("two") : .int(2)))])),
            ])
    }

    /// A transaction that creates planes.
    func planes(_ count: Int64) -> Changeset {
        Changeset(
            sequence: 1, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1),
            operations: (1...count).map { key in
                ObjectOperation(ObjectRef(0, .int(key)), .create([FieldOperation(1, .set(.int(2)))]))
            })
    }
}

extension Bench {
    /// Two engines on one journal.
    static func pair(on journal: MemoryJournal) throws -> (Bench, Bench) {
        (try Bench(journal: journal, seed: 1_000), try Bench(journal: journal, seed: 2_000))
    }
}

/// The uploads that commits among messages acknowledge.
func acknowledgements(in messages: [ServerMessage]) -> [UInt64] {
    messages.compactMap { if case .commit(let commit) = $0 { commit.header.acknowledged } else { nil } }
}
