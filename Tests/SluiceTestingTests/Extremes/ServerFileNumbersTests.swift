import Foundation
import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

extension ExtremeNumberTests {
    @Test func aServerServesOrRefusesAFileWithWhateverIntegers() throws {
        try withFolder { folder in
            let identity = try NumberedFile.make(folder + "/made")
            let cells = try IntegerCells(folder + "/made")
            let path = folder + "/case/db"
            try cells.write(to: path)
            let control = try NumberedFile(path)
            try control.use(as: identity)
            #expect(control.completeCount >= 3)
            var count = 0
            try cells.forEachCase(blobCaseCount: 50) { cell, value in
                guard try cells.write(to: path, cell, value) else { return }
                LastCase.note("a server's \(cell.name): \(value)")
                try? NumberedFile(path).use(as: identity)
                count += 1
            }
            #expect(count > 100)
        }
    }
}

/// A server's engine over a small file.
private final class NumberedFile {
    private let storage: SQLiteServerStorage
    private let engine: DatabaseEngine
    private var connection: UInt64 = 0
    private var identity: ClientIdentity?
    /// How many subscriptions were completed.
    private(set) var completeCount = 0
    /// Far enough after the last use for clients to be forgotten.
    private var now = Timestamp(microseconds: 1_000_000)

    init(_ path: String) throws {
        storage = try SQLiteServerStorage.open(
            .file(path), databaseID: ObjectID(high: 7, low: 7), durability: .process)
        var limits = DatabaseLimits()
        limits.logAgeMax = 1_000_000
        var number: UInt64 = 0
        engine = DatabaseEngine(name: "test", storage: storage, limits: limits) {
            number += 1
            return number
        }
        try engine.beginEpoch()
        try engine.begin(with: nil, isWritable: true, now: Timestamp(microseconds: 0))
    }

    private static func schema() throws -> Schema {
        try Schema([
            ClassSchema(
                "User", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("age", .scalar(.int), isIndexed: true),
                    Property("lines", PropertyType(.scalar(.int), container: .list)), Property("best", .link("User")),
                    Property("at", .scalar(.date, isOptional: true)), Property("flag", .scalar(.bool)),
                    Property("counts", PropertyType(.scalar(.int), container: .map)),
                ]),
            ClassSchema("Note", properties: [Property("author", .link("User"))]),
        ])
    }

    private static func changeset(_ sequence: UInt64, _ operations: [ObjectOperation]) -> Changeset {
        Changeset(
            sequence: sequence, baseVersion: 1, timestamp: HybridTimestamp(microseconds: 1_000_000 + Int64(sequence)),
            operations: operations)
    }

    private static func create(_ id: Int64) -> ObjectOperation {
        ObjectOperation(
            ObjectRef(0, .int(id)),
            .create([
                FieldOperation(1, .set(.int(id))), FieldOperation(2, .set(.list([.int(1), .int(2)]))),
                FieldOperation(3, .set(.link(.int(1)))), FieldOperation(4, .set(.date(Timestamp(microseconds: 5)))),
                FieldOperation(6, .set(.map(ValueMap([(key: "a", value: .int(1))])))),
            ]))
    }

    private static func edit() -> ObjectOperation {
        let author = ListEdits.Author(origin: 5, time: 9, ids: ObjectIDGenerator(origin: 5))
        let list = ElementList([.int(1), .int(2)])
        let edits = ListEdits.inserting([.int(7)], at: 1, in: list, by: author) ?? ListEdits()
        return ObjectOperation(ObjectRef(0, .int(1)), .update([FieldOperation(2, .editList(edits))]))
    }

    /// Makes a database with objects, deletions, an edited list, clients, a rejection and rules.
    ///
    /// - Returns: the identity of one of its clients.
    static func make(_ path: String) throws -> ClientIdentity {
        let file = try NumberedFile(path)
        let first = try file.open()
        let creations = (1...4 as ClosedRange<Int64>).map(create)
        let note = ObjectOperation(
            ObjectRef(1, .id(ObjectID(high: 3, low: 4))), .create([FieldOperation(0, .set(.link(.int(2))))]))
        file.say(.upload(session: 1, changesets: [changeset(1, creations + [note])]), in: first)
        file.say(.upload(session: 1, changesets: [changeset(2, [edit()])]), in: first)
        let bad = ObjectOperation(ObjectRef(0, .int(1)), .update([FieldOperation(1, .set(.string("a")))]))
        file.say(.upload(session: 1, changesets: [changeset(3, [bad])]), in: first)
        let deletion = ObjectOperation(ObjectRef(0, .int(4)), .delete)
        file.say(.upload(session: 1, changesets: [changeset(4, [deletion])]), in: first)
        let identity = try #require(file.identity)
        let second = try file.open()
        let all = "TRUEPREDICATE"
        let rights = ["read", "create", "update", "updateAfter", "delete"].map { "\"\($0)\": \"\(all)\"" }
        let classes = ["User", "Note"].map { "\"\($0)\": {\(rights.joined(separator: ", "))}" }
        let database = ["schema", "reports", "rules"].map { "\"\($0)\": \"\(all)\"" }
        let rules = """
            {"database": {\(database.joined(separator: ", "))}, "classes": {\(classes.joined(separator: ", "))}}
            """
        file.say(.deploy(.init(session: 1, request: 1, isTrial: false, file: Array(rules.utf8))), in: second)
        file.engine.close()
        return identity
    }

    /// Reads, resumes, writes and does the upkeep. Errors are answers.
    func use(as identity: ClientIdentity) throws {
        let anew = try open()
        let queries = ["User SORT(age) LIMIT(9)", "Note", "User WHERE lines.@count > 0 AND age > 1"]
        for (index, query) in queries.enumerated() {
            say(.subscribe(.init(session: 1, subscription: UInt64(index + 1), query: query)), in: anew)
        }
        let session = try open(identity)
        let hash = SHA256.truncatedID(of: Array("User".utf8))
        for version in [1, 2] as [UInt64] {
            let resume = ClientMessage.Resume(version: version, queryHash: hash, memberCount: 3)
            say(.subscribe(.init(session: 1, subscription: version, query: "User", resume: resume)), in: session)
        }
        let changes = [Self.create(1), Self.create(9), Self.edit()]
        let old = Changeset(
            sequence: 5, baseVersion: 1, timestamp: HybridTimestamp(microseconds: 1), operations: changes)
        say(.upload(session: 1, changesets: [old]), in: session)
        let deletion = ObjectOperation(ObjectRef(0, .int(2)), .delete)
        say(.upload(session: 1, changesets: [Self.changeset(6, [deletion]), Self.changeset(7, changes)]), in: session)
        for topic in 0..<8 as Range<UInt64> {
            let request = ClientMessage.ReportRequest(
                session: 1, request: topic + 1, topic: .init(rawValue: topic),
                argument: topic == 2 ? "User WHERE age > 1" : "")
            say(.reportRequest(request), in: session)
        }
        // A year later.
        now = Timestamp(microseconds: now.microseconds + 31_536_000_000_000)
        for _ in 0..<4 { engine.performMaintenance(now: now) }
        say(.upload(session: 1, changesets: [Self.changeset(8, changes)]), in: anew)
        say(.deploy(.init(session: 1, request: 20, isTrial: false, file: Array("{}".utf8))), in: session)
        engine.close()
    }

    // MARK: Sessions

    private func open(_ identity: ClientIdentity? = nil) throws -> SessionID {
        connection += 1
        let id = SessionID(connection: connection, session: 1)
        let open = ClientMessage.Open(
            session: 1, path: "test", identity: identity, version: identity == nil ? 0 : 2, schema: try Self.schema())
        var user = User(id: nil, mayExtendSchema: true)
        user.mayBeginRules = true
        perform(engine.handle([.open(id, open, user)], now: now))
        return id
    }

    private func say(_ message: ClientMessage, in id: SessionID) {
        perform(engine.handle([.messages(id, [message])], now: now))
        for _ in 0..<50 {
            if let reading = engine.takeReading() ?? engine.takePreparation() {
                reading.run()
                perform(engine.handle([.prepared(reading)], now: now))
            } else if engine.hasWork {
                perform(engine.step(now: now))
            } else {
                return
            }
        }
    }

    private func perform(_ actions: [DatabaseAction]) {
        for action in actions {
            let frame: [UInt8]
            switch action {
            case .send(let sent, _), .broadcast(let sent, _), .offer(let sent, _): frame = sent
            case .consult: continue
            case .end: continue
            }
            for message in (try? Frame.decode(frame, as: ServerMessage.self)) ?? [] {
                switch message {
                case .opened(let opened): identity = opened.identity
                case .complete: completeCount += 1
                default: break
                }
            }
        }
    }
}
