#if PostgreSQL

internal import Glibc
package import SluiceModel
package import SluiceStorage

/// The journal of a database, as rows of a PostgreSQL that several nodes append to.
///
/// An append is one statement that commits by itself; within a turn it ends the transaction that holds the row of the
/// database. Whatever ends without PostgreSQL's word is of unknown outcome, and the same append again finds out: it meets
/// its own row, or takes the place before the first one arrives.
///
/// Used by one thread at a time, which is why it may be sent to another.
package final class PostgresJournal: Journal, @unchecked Sendable {
    /// The most bytes of records that are read at a time, unless one alone has more.
    private static let byteCountMax: Int64 = 16 << 20
    /// The most records that are read at a time.
    private static let countMax = 4_096

    package let databaseID: ObjectID
    private let place: JournalPlace
    private let pool: PostgresPool
    private let row: NodeRow
    /// Called with the position of each group that was appended.
    private let ring: (Int64) -> Void
    /// The connection whose transaction has the database's row; nil without a turn.
    private var turn: AcceptedConnection?
    /// The last group of which nobody knows whether it is in the journal.
    private var uncertain: JournalHead?

    init(
        databaseID: ObjectID, place: JournalPlace, pool: PostgresPool, row: NodeRow,
        ring: @escaping (Int64) -> Void
    ) {
        self.databaseID = databaseID
        self.place = place
        self.pool = pool
        self.row = row
        self.ring = ring
    }

    deinit { endTurn() }

    package var patience: AppendPatience {
        AppendPatience(
            time: pool.timeouts.patience.microseconds,
            now: {
                let time = ContinuousClock.now - Self.start
                return Timestamp(microseconds: time.microseconds)
            }, wait: { [stop = pool.stop] in _ = stop.wait(until: .now + .microseconds($0)) })
    }

    private static let start = ContinuousClock.now

    package var nodeName: String? { row.name }

    package var format: UInt8 { row.agreedFormat }

    // MARK: Appending

    // After `stop()` an append throws as one that patience has given up: busy, and perhaps there all the same.
    package func append(
        _ record: JournalRecord, after head: JournalHead, holding duty: HeldDuty?
    ) throws -> JournalOutcome {
        do {
            let outcome = try attempt(record, after: head, duty)
            uncertain = outcome == .unknown ? record.head : nil
            if outcome == .appended {
                place.note(position: record.head.position)
                ring(Int64(record.head.position))
            }
            return outcome
        } catch let failure as PostgresFailure {
            // What an earlier try has sent may still arrive, whatever became of this one.
            if uncertain == record.head, failure != .stopped { return .unknown }
            throw failure.storageError("group \(record.head.position) of \(place) could not be appended", pool.address)
        } catch is DutyLost where uncertain == record.head { return .unknown }
    }

    private func attempt(
        _ record: JournalRecord, after head: JournalHead, _ duty: HeldDuty?
    ) throws -> JournalOutcome {
        if let turn {
            self.turn = nil
            defer { pool.give(turn) }
            return try append(record, after: head, duty, in: turn)
        }
        let connection: AcceptedConnection
        do { connection = try pool.take() } catch .lost(let reason, let state) {
            // Nothing was sent; but who asks again in a moment is served then.
            let failure = PostgresFailure.lost(reason, state: state)
            if failure.isOfAccess { throw failure }
            return .unknown
        }
        defer { pool.give(connection) }
        do {
            return try write(record, after: head, duty, by: connection)
        } catch let failure as PostgresFailure where failure.isRepeatable { return .unknown }
    }

    /// Appends and commits. Before the COMMIT is sent, nothing that goes wrong leaves anything behind.
    private func append(
        _ record: JournalRecord, after head: JournalHead, _ duty: HeldDuty?, in turn: AcceptedConnection
    ) throws -> JournalOutcome {
        let connection = turn.connection
        do {
            let outcome = try write(record, after: head, duty, by: turn)
            guard outcome == .appended else {
                try connection.execute(script: "ROLLBACK")
                return outcome
            }
            return try connection.execute(script: "COMMIT").command == "COMMIT" ? .appended : .unknown
        } catch let failure as PostgresFailure {
            connection.close()
            if case .lost = failure { return .unknown }
            throw failure
        } catch {
            connection.close()
            throw error
        }
    }

    private func write(
        _ record: JournalRecord, after head: JournalHead, _ duty: HeldDuty?, by accepted: AcceptedConnection
    ) throws -> JournalOutcome {
        let connection = accepted.connection
        let history = accepted.greeting.history.description
        let (id, position) = (
            PostgresParameter.integer(place.id), PostgresParameter.integer(Int64(record.head.position))
        )
        let (chain, chainBefore) = (PostgresParameter.bytes(record.head.chain), PostgresParameter.bytes(head.chain))
        let bytes = PostgresParameter.bytes(RecordBytes.pack(record.bytes))
        let appended: PostgresResult
        if let duty {
            appended = try connection.execute(
                JournalStatements.appendHolding, id, position, chain, bytes, chainBefore, .text(row.name),
                .text(history),
                .text(duty.duty.name), .bytes(row.run), .integer(Int64(clamping: duty.term)))
        } else {
            let append = accepted.greeting.isPooled ? JournalStatements.appendPooled : JournalStatements.append
            appended = try connection.execute(
                append, id, position, chain, bytes, chainBefore, .text(row.name), .text(history))
        }
        if appended.affectedCount == 1 { return .appended }

        let found = try connection.execute(JournalStatements.inspect, id, position, chain, chainBefore)
        guard found.rowCount == 1 else {
            throw StorageError(.journal, "\(place) is no longer there; the server makes it anew when it starts")
        }
        let (isTaken, isOurs, fits, goesOn) = (found.flag(1), found.flag(2), found.flag(3), found.flag(4))
        if isOurs { return .appended }
        if isTaken || goesOn { return .conflict }
        guard fits else {
            throw StorageError(
                .journal,
                "\(place) does not have the history of this replica, which is at position \(head.position); the replica "
                    + "has to be made anew")
        }
        if DatabaseRow.Phase(rawValue: found.text(0)) == .sealed {
            throw StorageError(.detached, "\(place) was sealed, since the database was detached from the cluster")
        }
        guard found.integer(5) == Int64(accepted.greeting.history.tables) else {
            // The tables are others than when the server was greeted: a dump was put back. Who connects anew knows.
            connection.close()
            return .unknown
        }
        guard found.text(0) != history else {
            if duty != nil { throw DutyLost() }
            // A pooler has led to another server than the one that was greeted.
            connection.close()
            return .unknown
        }
        guard record.beginsEpoch else { throw JournalHistoryChanged() }
        let begun = try connection.execute(
            JournalStatements.appendEpoch, id, position, chain, bytes, chainBefore, .text(row.name),
            .text(found.text(0)),
            .text(history))
        return begun.affectedCount == 1 ? .appended : .conflict
    }

    package var needsEpoch: Bool {
        get throws {
            try reading("the history of \(place) could not be read") { accepted throws(PostgresFailure) in
                let found = try accepted.connection.execute(JournalStatements.history, .integer(place.id))
                return found.rowCount == 1 && found.text(0) != accepted.greeting.history.description
            }
        }
    }

    // MARK: Turns

    package func takeTurn() throws {
        guard turn == nil else { return }
        do throws(PostgresFailure) {
            // Another connection is tried if the first one has ended: nothing was locked by it.
            do throws(PostgresFailure) { try lock(by: pool.take()) } catch {
                guard error.isOfConnection else { throw error }
                try lock(by: pool.take())
            }
        } catch {
            throw error.storageError("the turn to append to \(place) could not be taken", pool.address)
        }
    }

    private func lock(by accepted: AcceptedConnection) throws(PostgresFailure) {
        let limit = pool.timeouts.statement.milliseconds
        let lockLimit = pool.timeouts.lock.milliseconds
        do {
            // Behind a pooler the limits hold for this transaction alone.
            try accepted.connection.execute(
                script: """
                    BEGIN; SET LOCAL lock_timeout = \(lockLimit); SET LOCAL statement_timeout = \(limit);
                    SET LOCAL idle_in_transaction_session_timeout = \(limit);
                    SELECT 1 FROM sluice.database WHERE id = \(place.id) FOR NO KEY UPDATE
                    """)
            turn = accepted
        } catch {
            accepted.connection.close()
            pool.give(accepted)
            throw error
        }
    }

    package func endTurn() {
        guard let accepted = turn else { return }
        turn = nil
        // A connection that is not idle afterwards is closed by the pool.
        _ = try? accepted.connection.execute(script: "ROLLBACK")
        pool.give(accepted)
    }

    // MARK: Reading

    package var isSealed: Bool { place.isSealed }

    package func records(after position: UInt64, countMax: Int) throws -> [JournalRecord] {
        var rows: [JournalRecord] = []
        try reading("\(place) could not be read") { accepted throws(PostgresFailure) in
            rows = []
            try accepted.connection.forEachRow(
                of: JournalStatements.records, .integer(place.id), .integer(Int64(clamping: position)),
                .integer(Int64(min(countMax, Self.countMax))), .integer(Self.byteCountMax)
            ) { row in
                let head = JournalHead(position: UInt64(clamping: row.integer(0)), chain: row.bytes(1))
                rows.append(JournalRecord(head: head, bytes: row.bytes(2)))
            }
        }
        // The first group that is there after a trim, or of a database that was adopted, may be without its bytes.
        if let first = rows.first, first.head.position != position + 1 || first.bytes.isEmpty {
            throw StorageError(.logTrimmed, "\(place) no longer has the group after position \(position)")
        }
        for index in rows.indices {
            rows[index].bytes = try RecordBytes.unpack(rows[index].bytes)
            try JournalGroup.checkFormat(of: rows[index].bytes)
        }
        place.note(position: rows.last?.head.position ?? position)
        return rows
    }

    package func continues(_ head: JournalHead) throws -> Bool {
        guard head.position > 0 else { return true }
        return try reading("\(place) could not be read") { accepted throws(PostgresFailure) in
            try accepted.connection.execute(
                JournalStatements.contains, .integer(place.id), .integer(Int64(clamping: head.position)),
                .bytes(head.chain)
            ).flag(0)
        }
    }

    /// Reads with the connection that has the turn, or with any; again if the connection has ended.
    private func reading<Result>(
        _ what: @autoclosure () -> String, _ body: (AcceptedConnection) throws(PostgresFailure) -> Result
    ) throws -> Result {
        do throws(PostgresFailure) {
            guard let turn else { return try pool.withAnyConnection(body) }
            do throws(PostgresFailure) { return try body(turn) } catch {
                // Who has lost the turn reads without it, and appends as others do.
                endTurn()
                guard error.isOfConnection else { throw error }
                return try pool.withConnection(body)
            }
        } catch {
            throw error.storageError(what(), pool.address)
        }
    }
}

#endif
