internal import SluiceModel
internal import SluiceQuery
package import SluiceWire

/// Why changes of records of jobs do not count.
package struct JobConflict: Error {
    package let code: ErrorCode
    package let message: String

    var reason: ServerMessage.Rejection.Reason { .init(code: code, message: message) }
}

extension JobConflict {
    /// The user may not run jobs.
    static let withoutRight = JobConflict(
        code: .permissionDenied, message: "the database's rules do not give this user the right 'jobs'")

    /// The conflict for which a transaction was rejected; nil if it was rejected for another reason.
    init?(_ rejection: ServerMessage.Rejection) {
        guard let reason = rejection.reasons.first, reason.code == .jobConflict || reason.code == .jobUnfinished
        else { return nil }
        self.init(code: reason.code, message: reason.message)
    }
}

/// Judges whether changes of records of jobs count at a state of the database.
struct JobJudge {
    /// Who wants a change.
    enum Author {
        /// A client, which has the spaces of consumers and queues.
        case client
        /// The server's own process, which has all spaces.
        case server
    }

    private let author: Author
    private let schema: Schema
    private let record: (JobRecord.Key) throws -> JobRecord?
    private let source: any ObjectSource
    private let access: AccessBinding
    private let now: Timestamp

    /// - Parameters:
    ///   - source: the objects, as the transaction leaves them.
    ///   - access: what the author may read: an object that is hidden is not there.
    ///   - now: the server's clock.
    ///   - record: finds a record.
    init(
        _ schema: Schema, in source: any ObjectSource, of author: Author, as access: AccessBinding, now: Timestamp,
        record: @escaping (JobRecord.Key) throws -> JobRecord?
    ) {
        self.author = author
        self.schema = schema
        self.source = source
        self.access = access
        self.now = now
        self.record = record
    }

    /// What changes do to the records.
    ///
    /// - Throws: ``JobConflict`` if one of them does not count, or is malformed.
    func changes(of writes: [JobWrite]) throws -> [JobChange] {
        try writes.map { write in
            if let conflict = try conflict(with: write) { throw conflict }
            return change(of: write)
        }
    }

    /// What a change does to its record.
    ///
    /// - Returns: nil if it does not count.
    /// - Throws: ``JobConflict`` if it is malformed.
    func changeIfCounting(_ write: JobWrite) throws -> JobChange? {
        guard let conflict = try conflict(with: write) else { return change(of: write) }
        guard conflict.code == .jobConflict || conflict.code == .jobUnfinished else { throw conflict }
        return nil
    }

    private func change(of write: JobWrite) -> JobChange {
        write.record(at: now).map { .set($0) } ?? .remove(write.key)
    }

    /// Why a change does not count; nil if it does.
    private func conflict(with write: JobWrite) throws -> JobConflict? {
        if let problem = author == .client ? JobSpace.problem(with: write) : JobSpace.sizeProblem(with: write) {
            return JobConflict(code: .invalidOperation, message: problem)
        }
        switch write.expectation {
        case .anything: break
        case .absent: if try record(write.key) != nil { return Self.taken(write.key) }
        case .value(let value): if try record(write.key)?.value != value { return Self.taken(write.key) }
        case .overdue(let value):
            guard let record = try record(write.key), record.value == value, record.due.map({ $0 <= now }) ?? true
            else { return Self.taken(write.key) }
        }
        switch write.condition {
        case nil: return nil
        case .unchanged(let identity, let version)?:
            guard let (_, row) = try row(identity), row.version == version else {
                return JobConflict(
                    code: .jobConflict, message: "an object of \(identity.className) has changed since it was read")
            }
            return nil
        case .unmatched(let identity, let text)?:
            let query: Query
            do { query = try access.query(Query.parse(text, schema: schema)) } catch let error as QueryError {
                return JobConflict(code: .invalidQuery, message: error.message)
            } catch {
                return JobConflict(
                    code: .invalidQuery, message: "the query of a queue names what the user may not read")
            }
            guard let (object, row) = try row(identity), try isResult(row, object, identity, of: query) else {
                return nil
            }
            return JobConflict(
                code: .jobUnfinished,
                message: "an object of \(identity.className) is finished and still matches the query of its queue")
        }
    }

    /// Whether an object that is there is a result of a query.
    private func isResult(_ row: Row, _ object: ObjectRef, _ identity: Identity, of query: Query) throws -> Bool {
        if let id = query.object { return identity.objectID == id }
        return try object.classIndex == query.classIndex && Evaluator(query, schema: schema).matches(row, in: source)
    }

    private func row(_ identity: Identity) throws -> (ObjectRef, Row)? {
        guard let classIndex = schema.index(of: identity.className),
            case let object = ObjectRef(classIndex, identity.key), let row = try source.row(object),
            try access.reads.allows(row, ofClass: classIndex, in: source)
        else { return nil }
        return (object, row)
    }

    private static func taken(_ key: JobRecord.Key) -> JobConflict {
        JobConflict(code: .jobConflict, message: "the record of the job '\(key.space)' has changed since it was read")
    }
}
