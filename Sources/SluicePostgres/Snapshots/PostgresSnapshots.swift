#if PostgreSQL

internal import SluiceStorage
internal import Synchronization

/// Snapshots as rows: one for each, and its file in compressed parts.
final class PostgresSnapshots: SnapshotService {
    /// The most groups that one statement removes.
    private static let trimCountMax: Int64 = 1_000

    private let pool: PostgresPool
    private let row: NodeRow
    private let places: JournalPlaces
    private let requests: PendingRequests
    private let backlogs = Mutex<[String: Backlog]>([:])

    /// What was counted of a journal, from where it was counted.
    private struct Backlog {
        var start: UInt64
        var end: UInt64
        var counted: SnapshotBacklog
        /// When the first of the groups was appended; nil without any.
        var since: ContinuousClock.Instant?
    }

    init(pool: PostgresPool, row: NodeRow, places: JournalPlaces) {
        self.pool = pool
        self.row = row
        self.places = places
        requests = PendingRequests(pool: pool)
    }

    func snapshots(ofDatabase name: String) throws -> [Snapshot] {
        let found = try asking("the snapshots of '\(name)' could not be read") { connection throws(PostgresFailure) in
            try connection.execute(SnapshotStatements.list, .text(name))
        }
        return (0..<found.rowCount).map { row in
            Snapshot(
                id: found.integer(0, row: row),
                head: JournalHead(
                    position: UInt64(clamping: found.integer(1, row: row)), chain: found.bytes(2, row: row)),
                byteCount: Int(found.integer(3, row: row)), isProved: found.flag(4, row: row))
        }
    }

    // MARK: What there is to do

    func backlog(ofDatabase name: String) throws -> SnapshotBacklog {
        let start = try snapshots(ofDatabase: name).first?.head.position ?? 0
        let known = backlogs.withLock { $0[name] }.flatMap { $0.start == start ? $0 : nil }
        var backlog =
            known
            ?? Backlog(
                start: start, end: start, counted: SnapshotBacklog(byteCount: 0, recordCount: 0, seconds: 0))
        let more = try after(backlog.end, ofDatabase: name)
        backlog.end = UInt64(clamping: more.integer(2))
        backlog.counted.recordCount += Int(more.integer(0))
        backlog.counted.byteCount += Int(more.integer(1))
        if backlog.counted.recordCount > 0 {
            let since = try backlog.since ?? .now - .seconds(after(start, oldestOf: name))
            backlog.since = since
            backlog.counted.seconds = Int((ContinuousClock.now - since) / .seconds(1))
        }
        backlogs.withLock { [backlog] in $0[name] = backlog }
        return backlog.counted
    }

    private func after(_ position: UInt64, ofDatabase name: String) throws -> PostgresResult {
        try asking("the journal of '\(name)' could not be measured") { connection throws(PostgresFailure) in
            try connection.execute(SnapshotStatements.after, .text(name), .integer(Int64(clamping: position)))
        }
    }

    private func after(_ position: UInt64, oldestOf name: String) throws -> Int {
        try asking("the journal of '\(name)' could not be measured") { connection throws(PostgresFailure) in
            let oldest = try connection.execute(
                SnapshotStatements.age, .text(name), .integer(Int64(clamping: position)))
            return oldest.rowCount == 1 ? Int(oldest.integer(0)) : 0
        }
    }

    func byteCount(after position: UInt64, ofDatabase name: String) throws -> Int {
        let found = try after(position, ofDatabase: name)
        guard found.integer(0) > 0 else { return 0 }
        guard UInt64(clamping: found.integer(3)) == position + 1, found.flag(4) else {
            throw StorageError(.logTrimmed, "the journal of '\(name)' no longer has the group after \(position)")
        }
        return Int(found.integer(1))
    }

    func request(_ upkeep: Upkeep, ofDatabase name: String) throws {
        let id = try id(of: name)
        _ = try asking("nothing could be asked for") { connection throws(PostgresFailure) in
            try connection.execute(
                SnapshotStatements.request, .integer(id), .text(upkeep.rawValue), .text(NewsChannel.name))
        }
    }

    func isRequested(_ upkeep: Upkeep, ofDatabase name: String) throws -> Bool {
        try requests.have(upkeep, of: id(of: name))
    }

    func request(for upkeep: Upkeep, ofDatabase name: String) throws -> UpkeepRequest? {
        let id = try id(of: name)
        let found = try asking("a request could not be read") { connection throws(PostgresFailure) in
            try connection.execute(SnapshotStatements.pendingRequest, .integer(id), .text(upkeep.rawValue))
        }
        guard found.rowCount > 0 else { return nil }
        return UpkeepRequest(upkeep: upkeep, database: name, number: found.integer(0))
    }

    func finish(_ request: UpkeepRequest) throws {
        let id = try id(of: request.database)
        _ = try asking("a request could not be finished") { connection throws(PostgresFailure) in
            try connection.execute(
                SnapshotStatements.finishRequest, .integer(id), .text(request.upkeep.rawValue),
                .integer(request.number))
        }
        requests.forget()
    }

    /// Forgets what is known of requests, since there are new ones.
    func noteRequest() { requests.forget() }

    // MARK: Making and loading

    func store(_ path: String, at head: JournalHead, holding duty: HeldDuty) throws -> Snapshot {
        let name = duty.duty.database
        let id = try id(of: name)
        let began = try fenced("a snapshot of '\(name)' could not be begun", id, duty) {
            connection, database, name, run, term throws(PostgresFailure) in
            try connection.execute(
                SnapshotStatements.begin, database, name, run, term, .integer(Int64(clamping: head.position)),
                .bytes(head.chain))
        }
        guard began.rowCount == 1 else { throw DutyLost() }
        let snapshot = began.integer(0)
        _ = try asking("old snapshots of '\(name)' could not be removed") { connection throws(PostgresFailure) in
            try connection.execute(SnapshotStatements.forgetDigests, .integer(id))
            return try connection.execute(
                SnapshotStatements.removeOthers, .integer(id), .integer(snapshot), .integer(0))
        }
        let (count, size) = try SnapshotParts.forEach(of: path) { number, part in
            guard duty.isHeld else { throw DutyLost() }
            _ = try asking("a part of a snapshot of '\(name)' could not be stored") {
                connection throws(PostgresFailure) in
                try connection.execute(
                    SnapshotStatements.addPart, .integer(snapshot), .integer(Int64(number)), .bytes(part))
            }
        }
        let finished = try fenced("a snapshot of '\(name)' could not be finished", id, duty) {
            connection, database, name, run, term throws(PostgresFailure) in
            try connection.execute(
                SnapshotStatements.finish, database, name, run, term, .integer(snapshot), .integer(1),
                .integer(Int64(count)),
                .integer(Int64(size)))
        }
        guard finished.affectedCount == 1 else { throw DutyLost() }
        return Snapshot(id: snapshot, head: head, byteCount: size, isProved: false)
    }

    func load(_ snapshot: Snapshot, into path: String) throws {
        try SnapshotParts.write(to: path, byteCount: snapshot.byteCount) { number in
            let part = try asking("a snapshot could not be read") { connection throws(PostgresFailure) in
                try connection.execute(SnapshotStatements.part, .integer(snapshot.id), .integer(Int64(number)))
            }
            guard part.rowCount == 1 else {
                throw StorageError(.notFound, "part \(number) of the snapshot at \(snapshot.head.position) is gone")
            }
            return part.bytes(0)
        }
    }

    func noteProof(of snapshot: Snapshot, holding duty: HeldDuty) throws {
        let id = try id(of: duty.duty.database)
        let noted = try fenced("a snapshot could not be proved", id, duty) {
            connection, database, name, run, term throws(PostgresFailure) in
            try connection.execute(SnapshotStatements.prove, database, name, run, term, .integer(snapshot.id))
        }
        guard noted.affectedCount == 1 else { throw DutyLost() }
    }

    func trim(before position: UInt64, holding duty: HeldDuty) throws -> Int {
        let id = try id(of: duty.duty.database)
        let end = PostgresParameter.integer(Int64(clamping: position))
        var count = 0
        while true {
            guard duty.isHeld else { throw DutyLost() }
            let removed = try fenced("the journal of '\(duty.duty.database)' could not be trimmed", id, duty) {
                connection, database, name, run, term throws(PostgresFailure) in
                try connection.execute(
                    SnapshotStatements.trim, database, name, run, term, end, .integer(Self.trimCountMax))
            }.affectedCount
            count += removed
            if removed == 0 { break }
        }
        let isHeld = try fenced("the duty of '\(duty.duty.database)' could not be checked", id, duty) {
            connection, database, name, run, term throws(PostgresFailure) in
            try connection.execute(DutyStatements.check, database, name, run, term)
        }.flag(0)
        guard isHeld else { throw DutyLost() }
        _ = try asking("old snapshots could not be removed") { connection throws(PostgresFailure) in
            try connection.execute(SnapshotStatements.removeOthers, .integer(id), .integer(-1), end)
        }
        return count
    }

    // MARK: Comparing

    func nodes(ofDatabase name: String) throws -> Set<String> {
        let id = try id(of: name)
        let found = try asking("the nodes could not be read") { connection throws(PostgresFailure) in
            try connection.execute(SnapshotStatements.nodes, .text("\(id)"))
        }
        return Set((0..<found.rowCount).map { found.text(0, row: $0) })
    }

    func note(_ digest: [UInt8], at position: UInt64, ofDatabase name: String) throws {
        let id = try id(of: name)
        _ = try asking("the digest of '\(name)' could not be stored") { connection throws(PostgresFailure) in
            try connection.execute(
                SnapshotStatements.note, .integer(id), .integer(Int64(clamping: position)), .text(row.name),
                .bytes(digest))
        }
    }

    func lastComparison(ofDatabase name: String) throws -> UInt64 {
        let id = try id(of: name)
        let last = try asking("the digests of '\(name)' could not be read") { connection throws(PostgresFailure) in
            try connection.execute(SnapshotStatements.lastComparison, .integer(id))
        }
        return UInt64(clamping: last.integer(0))
    }

    func digests(at position: UInt64, ofDatabase name: String) throws -> [ReplicaDigest] {
        let id = try id(of: name)
        let found = try asking("the digests of '\(name)' could not be read") { connection throws(PostgresFailure) in
            try connection.execute(SnapshotStatements.digests, .integer(id), .integer(Int64(clamping: position)))
        }
        return (0..<found.rowCount).map {
            ReplicaDigest(node: found.text(0, row: $0), position: position, digest: found.bytes(1, row: $0))
        }
    }

    // MARK: Asking

    private func id(of name: String) throws -> Int64 {
        if let place = places.all.first(where: { $0.name == name }) { return place.id }
        let found = try asking("'\(name)' could not be looked for") { connection throws(PostgresFailure) in
            try connection.execute(JournalStatements.find, .text(name))
        }
        guard found.rowCount == 1 else { throw StorageError(.notFound, "the cluster has no database '\(name)'") }
        return found.integer(0)
    }

    private func asking<Result>(
        _ what: @autoclosure () -> String, _ body: (PostgresConnection) throws(PostgresFailure) -> Result
    ) throws(StorageError) -> Result {
        try pool.asking(what()) { accepted throws(PostgresFailure) in try body(accepted.connection) }
    }

    /// Runs a statement whose first four parameters say which database it is about, and which duty the node must have.
    private func fenced(
        _ what: @autoclosure () -> String, _ id: Int64, _ duty: HeldDuty,
        _ body: (
            PostgresConnection, _ database: PostgresParameter, _ name: PostgresParameter, _ run: PostgresParameter,
            _ term: PostgresParameter
        ) throws(PostgresFailure) -> PostgresResult
    ) throws(StorageError) -> PostgresResult {
        try asking(what()) { connection throws(PostgresFailure) in
            try body(
                connection, .integer(id), .text(duty.duty.name), .bytes(row.run), .integer(Int64(clamping: duty.term)))
        }
    }
}

#endif
