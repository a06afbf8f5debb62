internal import SluiceModel
internal import SluiceQuery
internal import SluiceRules
internal import SluiceStorage
internal import SluiceWire

/// Changes of records of jobs that uploads carry.
extension GroupPreparation {
    /// What an upload does to the records of jobs, if that counts.
    ///
    /// - Parameter touched: the objects that it changes.
    /// - Throws: ``JobConflict``.
    mutating func judgeJobs(of upload: Upload, _ touched: [TouchedObject]) throws -> [JobChange] {
        let writes = upload.changeset.jobs
        guard !writes.isEmpty else { return [] }
        let access = authority?(upload.session) ?? .everything
        // A job of the server's own process is what the process decides, and reads and writes as its user may.
        let isOwn = upload.clientID == Upload.serverClientID
        guard isOwn || access.has(.jobs) else {
            throw JobConflict.withoutRight
        }
        let state = PreparedState(over: storage, schema: schema)
        var changes = writes.contains(where: \.readsQuery) ? objects.known : []
        changes += touched.map { ($0.object, $0.merger.row) }
        var made: [JobChange] = []
        try state.attempt(changes) {
            let judge = JobJudge(schema, in: state, of: isOwn ? .server : .client, as: access, now: now) {
                [jobs, storage] key in
                if let known = jobs[key] { return known }
                return try storage.job(key)
            }
            made = try judge.changes(of: writes)
        }
        return made
    }

    /// What a job's creation does to an object that is there. A job beside a store creates what it upserts, since others
    /// may have deleted it; with each creation that meets the object more of its history would be kept (``Lineages``).
    ///
    /// - Returns: a change of the object; nil for all else, also for a change that would be of another object.
    mutating func update(
        _ operation: ObjectOperation, of touched: inout TouchedObject, since version: UInt64, _ author: WriteStamp
    ) throws -> ObjectOperation? {
        guard case .create(let fields) = operation.action, touched.merger.row != nil else { return nil }
        let update = ObjectOperation(operation.object, .update(fields))
        let history = try history(of: &touched, since: version, for: update, author, isWhole: false)
        return touched.merger.isOfAnother(update, by: author, history) ? nil : update
    }

    /// Notes changes of records, which count for those that follow in the group.
    mutating func append(_ changes: [JobChange]) {
        for change in changes {
            steps.append(change.step)
            switch change {
            case .set(let record): jobs[record.key] = .some(record)
            case .remove(let key): jobs[key] = .some(nil)
            }
        }
    }
}
