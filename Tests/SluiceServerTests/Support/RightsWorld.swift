import SluiceModel
import SluiceRules
import SluiceServer
import SluiceStorage
import SluiceTesting
import SluiceWire
import TestSupport
import Testing

/// Something that somebody may or may not do, or that changes who may.
enum RightsStep {
    case join(String)
    case leave(String)
    /// The server's own process stores rules.
    case rules(RightsVariant, number: Int)
    /// A client of the user opens a session with a further class.
    case declare(String, number: Int)
    case deploy(String, RightsVariant, number: Int)
    /// The server's own process creates a plane as the user.
    case write(String, key: Int64)
    case upload(String, key: Int64)
    /// The user inserts a plane by a transaction as JSON.
    case insert(String, key: Int64)
}

/// Which rules decide.
enum RightsVariant: CaseIterable {
    case members
    case ann
    case nobody

    /// The file; two with different numbers are different.
    func file(number: Int) throws -> RulesFile {
        let condition =
            switch self {
            case .members: "$role.member"
            case .ann: "$user.id == 'ann'"
            case .nobody: "FALSEPREDICATE"
            }
        return try RulesFile(
            """
            {"roles": {"member": "Member WHERE id == $user.id", "number\(number)": "$user.id == 'x'"},
             "database": {"schema": "\(condition)", "rules": "\(condition)"},
             "classes": {"Plane": {"read": true, "create": "\(condition)", "update": "\(condition)"},
                         "Member": {"read": true}}}
            """)
    }
}

/// An engine with sessions of users, to which steps are done one after the other.
final class RightsNode {
    let bench: Bench
    private var sessions: [String: (id: SessionID, sequence: UInt64)] = [:]
    private let schema: Schema

    init(_ bench: Bench) throws {
        self.bench = bench
        schema = try Schema(
            bench.planeSchema.classes
                + [ClassSchema("Member", primaryKey: "id", properties: [Property("id", .scalar(.string))])])
    }

    /// Makes the classes and the first rules.
    func begin() throws {
        try bench.engine.declare(schema)
        try bench.engine.deploy(RightsVariant.members.file(number: 0))
    }

    /// Opens the sessions of users that are not open.
    func open(_ users: [String]) throws {
        for user in users where sessions[user] == nil { sessions[user] = (try bench.open(user: user).id, 0) }
    }

    /// Does a step.
    ///
    /// - Returns: whether it was allowed.
    func perform(_ step: RightsStep) throws -> Bool {
        switch step {
        case .join(let user): return try write(nil, ObjectOperation(ObjectRef(1, .string(user)), .create([])))
        case .leave(let user): return try write(nil, ObjectOperation(ObjectRef(1, .string(user)), .delete))
        case .rules(let variant, let number):
            try bench.engine.deploy(variant.file(number: number))
            return true
        case .declare(let user, let number): return try declare(user, number)
        case .deploy(let user, let variant, let number):
            let file = try variant.file(number: number).canonicalBytes
            return try ask(as: user) { _ in .deploy(.init(session: 1, request: 1, isTrial: false, file: file)) }
        case .write(let user, let key): return try write(user, Self.creation(key))
        case .upload(let user, let key):
            return try ask(as: user) { sequence in
                .upload(
                    session: 1,
                    changesets: [
                        Changeset(
                            sequence: sequence, baseVersion: self.bench.storage.version,
                            timestamp: HybridTimestamp(microseconds: 1), operations: [Self.creation(key)])
                    ])
            }
        case .insert(let user, let key):
            let line = #"[{"op":"insert","class":"Plane","key":\#(key),"set":{"seats":1}}]"#
            return try ask(as: user) { sequence in
                .write(.init(session: 1, sequence: sequence, operations: line, operationCount: 1))
            }
        }
    }

    private static func creation(_ key: Int64) -> ObjectOperation {
        ObjectOperation(ObjectRef(0, .int(key)), .create([FieldOperation(1, .set(.int(1)))]))
    }

    private func write(_ user: String?, _ operation: ObjectOperation) throws -> Bool {
        do {
            try bench.engine.write(by: 1, as: user, now: bench.now) { _, _ in OwnTransaction((), [operation]) }
            return true
        } catch let error as ServerError where error.code == .rejected { return false }
    }

    private func declare(_ user: String, _ number: Int) throws -> Bool {
        let id = SessionID(connection: 1_000 + UInt64(number), session: 1)
        let larger = try Schema(
            schema.classes
                + [ClassSchema("Class\(number)", primaryKey: "id", properties: [Property("id", .scalar(.int))])])
        let open = ClientMessage.Open(
            session: 1, path: "planes", identity: nil, version: 0, acknowledged: 0, options: [], schema: larger)
        let answers = try bench.handle([.open(id, open, User(id: user, mayExtendSchema: true))])
        let isOpened = answers.contains { if case .opened = $0 { true } else { false } }
        if isOpened { _ = try bench.handle([.closed(id)]) }
        return isOpened
    }

    /// Sends a message of a user, once more where the session has ended.
    ///
    /// - Returns: whether it was allowed.
    private func ask(as user: String, _ message: (_ sequence: UInt64) throws -> ClientMessage) throws -> Bool {
        for _ in 0..<3 {
            try open([user])
            var session = try #require(sessions[user])
            let message = try message(session.sequence + 1)
            let answers = try bench.handle([.messages(session.id, [message])])
            let isRefused = answers.contains { answer in
                switch answer {
                case .rejected, .reportError: true
                default: false
                }
            }
            let isTaken = answers.contains { answer in
                switch answer {
                case .report: true
                case .commit(let commit): commit.header.acknowledged == session.sequence + 1
                default: false
                }
            }
            if isRefused || isTaken {
                if case .deploy = message {} else { session.sequence += 1 }
                sessions[user] = session
                return !isRefused
            }
            sessions[user] = nil
        }
        Issue.record("a message of \(user) was not answered")
        return false
    }

    /// What the database has: its classes, its planes up to a key, and how many rules were stored.
    func content(planes count: Int64) throws -> [String] {
        try bench.storage.schema.classes.map(\.name).sorted() + ["rules \(bench.storage.rulesVersion)"]
            + (0..<count).filter { try bench.seats($0) != nil }.map { "plane \($0)" }
    }
}
