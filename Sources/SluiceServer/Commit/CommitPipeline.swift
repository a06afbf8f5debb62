package import SluiceModel
package import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// Turns groups of uploads into versions, in three steps: it prepares a group by merging it against the state, appends
/// the redo data to the journal, and finishes by applying them. What others have appended it applies in the same way.
///
/// The journal decides: a group that it does not take has no effect here, and one that it has taken is applied from its
/// bytes by every engine that follows.
package struct CommitPipeline {
    /// How many times a group is merged. After the first time the engine has the turn, which it can only lose by keeping
    /// it for too long.
    private static let attemptCountMax = 4
    /// The number of missed records that are read at a time.
    private static let recordCountMax = 64

    private let storage: SQLiteServerStorage
    private let workerID: String?
    private let operationCountMax: Int
    private let limits: DataLimits
    /// What holds for the user of a session at the present state; nil if everybody may write everything. Each attempt asks
    /// anew, since what others have appended may have brought rules, or another schema.
    private let authority: () -> ((SessionID) -> AccessBinding)?
    /// What the server's user decides about writes in the present schema.
    private let policies: () -> DatabasePolicies?
    private let turns: JournalTurns
    private let meter: CommitMeter
    /// Makes the ids of epochs.
    private let random: () -> UInt64

    /// - Parameters:
    ///   - operationCountMax: the most operations of one transaction; larger ones are rejected.
    ///   - limits: a transaction that would make a larger object is rejected.
    ///   - authority: what holds for the user of a session at the present state; nil if everybody may write everything.
    package init(
        storage: SQLiteServerStorage, workerID: String?,
        operationCountMax: Int = DataLimits.standard.operationCount, limits: DataLimits = .standard,
        authority: ((SessionID) -> AccessBinding)? = nil
    ) {
        self.init(
            storage: storage, workerID: workerID, operationCountMax: operationCountMax, limits: limits,
            authority: { authority }, policies: { nil }, turns: JournalTurns(), meter: CommitMeter(),
            random: { .random(in: .min ... .max) })
    }

    /// - Parameters:
    ///   - authority: what holds for the user of a session at the present state, asked again for each attempt.
    ///   - policies: what the server's user decides about writes, in the present schema; nil for nothing.
    ///   - turns: whether the engine takes turns at the journal.
    ///   - random: makes the ids of epochs.
    init(
        storage: SQLiteServerStorage, workerID: String?, operationCountMax: Int, limits: DataLimits,
        authority: @escaping () -> ((SessionID) -> AccessBinding)?, policies: @escaping () -> DatabasePolicies?,
        turns: JournalTurns, meter: CommitMeter, random: @escaping () -> UInt64
    ) {
        self.random = random
        self.turns = turns
        self.meter = meter
        self.policies = policies
        self.authority = authority
        self.limits = limits
        self.storage = storage
        self.workerID = workerID
        self.operationCountMax = operationCountMax
    }

    /// Commits a group, and returns once it is durable. After an error nothing of the group is stored here.
    ///
    /// O(operations · log n), where n is the number of writes that an operation is merged with, even if all of them
    /// concern one object.
    ///
    /// - Parameters:
    ///   - uploads: makes the uploads for the present state, again after what others have appended was applied: in order
    ///     of arrival; the sequences of one client ascend. Uploads that were accepted earlier are acknowledged again.
    ///   - steps: what else the group has, made after the uploads.
    ///   - duty: what the server must have when the journal takes the group; nil for nothing.
    ///   - now: the server's wall clock.
    ///   - publish: called with each group of others that had to be applied first, once it is durable.
    /// - Throws: ``StorageError`` when the group could not be appended or stored. If it may be in the journal all the
    ///   same, the same uploads are acknowledged by the next attempt.
    package func commit(
        _ uploads: @autoclosure () throws -> [Upload], with steps: @autoclosure () -> [JournalStep] = [],
        holding duty: HeldDuty? = nil, now: Timestamp, following publish: (CommittedGroup) -> Void = { _ in }
    ) throws -> CommittedGroup {
        try catchingUp(publish) {
            let uploads = try uploads()
            let start = meter.now
            var end = start
            let group = try storage.transaction {
                let prepared = try prepare(uploads, with: steps(), now: now)
                end = meter.now
                try append(prepared, holding: duty)
                return try finish(prepared)
            }
            meter.note(from: start, prepared: end)
            return group
        }
    }

    /// Does something that appends to the journal, again after applying what others have appended first. An engine that
    /// was overtaken has the turn from then on, and for its next groups.
    ///
    /// - Throws: what `body` throws; ``StorageError/Code/busy`` if the engine does not get the turn, or loses it again and
    ///   again; ``StorageError/Code/journal`` if the journal does not continue the history of this database.
    package func catchingUp<Result>(
        _ publish: (CommittedGroup) -> Void, _ body: () throws -> Result
    ) throws -> Result {
        var wasOvertaken = false
        for _ in 0..<Self.attemptCountMax {
            do {
                guard turns.areTaken else { return try body() }
                // What was missed before is applied before anybody has to wait.
                let missed = try catchUp(publish)
                try journal.takeTurn()
                meter.noteTurn()
                defer { journal.endTurn() }
                guard try missed + catchUp(publish) > 0 || !wasOvertaken else { throw otherHistory }
                let result = try body()
                turns.noteGroup()
                return result
            } catch is JournalConflict {
                turns.noteConflict()
                wasOvertaken = true
            } catch is JournalHistoryChanged {
                // Nobody was first this time, and what was missed is applied.
                wasOvertaken = false
                try beginEpoch(publish)
            }
        }
        throw StorageError(.busy, "the turn to append to the journal was lost again and again")
    }

    /// Begins an epoch, since the journal may lack groups that it had taken. If another engine was first, that is followed.
    private func beginEpoch(_ publish: (CommittedGroup) -> Void) throws {
        do {
            publish(
                try storage.transaction {
                    let now = storage.groupAcceptedAt
                    let prepared = try prepare([], with: [.epoch(random())], now: now)
                    try append(prepared)
                    return try finish(prepared)
                })
            meter.noteEpoch()
        } catch is JournalConflict { turns.noteConflict() }
    }

    private var otherHistory: StorageError {
        StorageError(
            .journal, "the journal has another history than the database, which has \(storage.head.position) groups")
    }

    private var journal: any Journal { storage.journal ?? OwnJournal(storage) }

    /// Merges a group against the state, and changes nothing.
    package func prepare(
        _ uploads: [Upload], with steps: [JournalStep] = [], now: Timestamp
    ) throws -> PreparedGroup {
        var preparation = GroupPreparation(
            storage: storage, operationCountMax: operationCountMax, limits: limits, authority: authority(),
            policies: policies(), now: now)
        for upload in uploads { try preparation.accept(upload) }
        return preparation.prepared(workerID: workerID, with: steps)
    }

    /// Appends a prepared group to the journal.
    ///
    /// - Parameter duty: what the server must have for that; nil for nothing.
    /// - Throws: ``JournalConflict`` if others were first; ``DutyLost``.
    package func append(_ prepared: PreparedGroup, holding duty: HeldDuty? = nil) throws {
        guard let record = prepared.record else { return }
        // No engine could apply it, and the journal would have it for ever.
        guard prepared.group.acceptedAt >= storage.groupAcceptedAt, prepared.group.baseVersion == storage.version
        else {
            throw StorageError(.misuse, "a group was prepared for another state than that after which it is appended")
        }
        guard let journal = storage.journal else {
            return try journal.appendSurely(record, after: prepared.head, holding: duty)
        }
        try meter.appending { try journal.appendSurely(record, after: prepared.head, holding: duty) }
    }

    /// Applies a group that the journal has. Within a transaction of the storage in which nothing was written since the
    /// group was prepared.
    package func finish(_ prepared: PreparedGroup) throws -> CommittedGroup {
        var committed = CommittedGroup(
            delta: CommitDelta(changes: [], version: storage.version), authors: [],
            acceptedAt: prepared.group.acceptedAt)
        if let record = prepared.record {
            committed = CommittedGroup(try storage.apply(record, prepared.group, known: prepared.known))
        }
        committed.acknowledged = prepared.acknowledged
        committed.rejections = prepared.rejections
        committed.createdInVain = prepared.createdInVain
        committed.supersededCount = prepared.supersededCount
        committed.metCounts = prepared.metCounts
        return committed
    }

    /// Applies the next record of the journal, which another engine has appended, in a transaction of its own.
    ///
    /// - Returns: what there is to publish.
    /// - Throws: ``StorageError/Code/journal`` if it is not the next one, or does not fit the state.
    package func follow(_ record: JournalRecord) throws -> CommittedGroup {
        CommittedGroup(try storage.transaction { try storage.apply(record) })
    }

    /// Applies everything that the journal has and this database lacks.
    ///
    /// - Returns: how many groups that were.
    @discardableResult
    package func catchUp(_ publish: (CommittedGroup) -> Void) throws -> Int {
        var count = 0
        while true {
            let records = try journal.records(after: storage.head.position, countMax: Self.recordCountMax)
            if records.isEmpty { return count }
            for record in records { publish(try follow(record)) }
            count += records.count
        }
    }
}
