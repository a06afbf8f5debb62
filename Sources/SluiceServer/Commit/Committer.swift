internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// Gathers uploads, and commits those of a turn together, with what else is to be in the journal soon.
final class Committer {
    /// What became of a group of uploads.
    enum Outcome {
        case committed(CommittedGroup)
        /// Nothing can be written at the moment. The uploads have to come again.
        case obstructed(StorageError, [SessionID])
        /// Nothing of the group is stored.
        case failed(any Error, [SessionID])
    }

    /// Why a transaction of this process could not be made.
    private struct Refusal: Error {
        let cause: any Error
    }

    private let database: Database
    private let workerID: String?
    /// What the server's user decides about writes.
    private let policies: WritePolicies?
    private var uploads: [Upload] = []
    /// Where the journal stood when the first of ``uploads`` came.
    private var uploadsHead = JournalHead(position: 0, chain: [])
    private var operationCount = 0
    /// What no client waits for: it goes with the next uploads, or after ``stepTimeMax``.
    private var steps: [JournalStep] = []
    /// When the first of ``steps`` was added.
    private var stepsSince = Timestamp(microseconds: 0)
    /// How long a step may wait for uploads, in microseconds.
    private static let stepTimeMax: Int64 = 1_000_000
    /// The most steps that wait.
    private static let stepCountMax = 1_024
    private let turns = JournalTurns()
    let meter = CommitMeter()
    private let random: () -> UInt64
    /// The most groups of others that are applied in one turn.
    private static let followedCountMax = 64
    private(set) var counts = CommitCounts()
    /// What holds for the user of a session; nil if everybody may write everything.
    var authority: ((SessionID) -> AccessBinding)?
    /// Whether a session goes on. What others have appended may end it, and its uploads then come again.
    var isOpen: (SessionID) -> Bool = { _ in true }
    /// Whether what follows an upload must be judged by what it has written.
    var concerns: (Changeset) -> Bool = { _ in false }
    /// Makes an upload anew for the present state, where its operations follow from the state.
    var renew: (_ upload: Upload, _ now: Timestamp) throws -> Upload = { upload, _ in upload }
    /// Called with each group that another engine has appended, once it is durable here.
    var onFollowed: (CommittedGroup) -> Void = { _ in }

    /// - Parameters:
    ///   - workerID: the name of this server process in change events.
    ///   - random: makes random numbers for groups.
    init(_ database: Database, workerID: String?, policies: WritePolicies?, random: @escaping () -> UInt64) {
        self.random = random
        self.policies = policies
        self.database = database
        self.workerID = workerID
    }

    /// Whether the uploads that were gathered fill a transaction.
    var isFull: Bool { operationCount >= database.limits.groupOperationCountMax }

    var hasUploads: Bool { !uploads.isEmpty }

    var uploadCount: Int { uploads.count }

    func add(_ upload: Upload) {
        if uploads.isEmpty { uploadsHead = database.storage.head }
        uploads.append(upload)
        operationCount += upload.changeset.operationCount
    }

    /// Whether steps wait.
    var hasSteps: Bool { !steps.isEmpty }

    /// Adds a step that nobody waits for. It waits until it is stored, and is dropped while the database cannot be written.
    func add(_ step: JournalStep, now: Timestamp) {
        guard database.isWritable else { return }
        if steps.isEmpty { stepsSince = now }
        steps.append(step)
    }

    /// Whether something is to be committed.
    ///
    /// - Parameter isPressing: whether the steps must not wait any longer.
    func isDue(now: Timestamp, isPressing: Bool) -> Bool {
        if !uploads.isEmpty { return true }
        guard !steps.isEmpty, database.isWritable else { return false }
        return isPressing || steps.count >= Self.stepCountMax
            || now.microseconds - stepsSince.microseconds >= Self.stepTimeMax
    }

    private var pipeline: CommitPipeline {
        let limits = database.limits
        return CommitPipeline(
            storage: database.storage, workerID: workerID, operationCountMax: Int(limits.server.operationCountMax),
            limits: limits.data, authority: { [unowned self] in authority },
            policies: { [policies, database] in
                policies?.policies(of: database.name, database.storage.schema) { message, details in
                    database.note(.warning, message, details)
                }
            }, turns: turns, meter: meter, random: random)
    }

    /// Applies what other engines have appended to the journal. Records that are applied already are left out.
    ///
    /// - Throws: ``StorageError``; a record that does not continue the database's history changes nothing.
    func follow(_ records: [JournalRecord]) throws {
        let head = database.storage.head
        let news = records.drop { $0.head.position < head.position || $0.head == head }
        guard !news.isEmpty else { return }
        try database.becomeDurable()
        let pipeline = pipeline
        for record in news { onFollowed(try pipeline.follow(record)) }
    }

    /// Applies everything that the journal has and this database lacks; nothing if nobody else appends.
    ///
    /// - Throws: ``StorageError``, at once while the journal does not answer.
    func catchUp() throws {
        if let silence = database.silence { throw silence }
        while try followSome() {}
    }

    /// Applies some of what the journal has and this database lacks: about as much as one turn commits.
    ///
    /// - Returns: whether there may be more.
    /// - Throws: ``StorageError``; with the code ``StorageError/Code/journal`` if the journal does not continue the
    ///   database's history.
    func followSome() throws -> Bool {
        guard let journal = database.journal else { return false }
        let head = database.storage.head
        let records = try journal.records(after: head.position, countMax: Self.followedCountMax)
        guard !records.isEmpty else {
            try database.checkHistory()
            return false
        }
        try database.becomeDurable()
        let pipeline = pipeline
        var room = database.limits.groupOperationCountMax
        for record in records where room > 0 {
            let group = try pipeline.follow(record)
            room -= max(1, group.delta.changeCount)
            onFollowed(group)
        }
        return room <= 0 || records.count == Self.followedCountMax
    }

    /// Does something that appends to the journal, again after applying what others have appended first.
    func catchingUp(_ body: () throws -> Void) throws { try pipeline.catchingUp(onFollowed, body) }

    /// Commits what was gathered, and returns once it is durable. Some uploads may be left, which are to be committed next:
    /// they are judged by what those before them have written.
    ///
    /// - Parameter isPressing: whether steps that nobody waits for are committed also alone.
    /// - Returns: nil if there is nothing to commit now.
    func commit(now: Timestamp, isPressing: Bool = false) -> Outcome? {
        guard isDue(now: now, isPressing: isPressing) else { return nil }
        let group = uploads
        let steps = steps
        uploads = []
        self.steps = []
        operationCount = 0
        var left: ArraySlice<Upload> = []
        let outcome = outcome(of: Set(group.map(\.session)).sorted()) {
            if !group.isEmpty { try database.checkQuota() }
            return try pipeline.commit(
                divide(group, into: &left, now: now), with: steps, now: now, following: onFollowed)
        }
        if case .committed = outcome {
            uploads = Array(left)
            operationCount = left.reduce(0) { $0 + $1.changeset.operationCount }
        } else {
            // Their sessions may go on without coming again, and what they upload then must not count without these.
            self.steps = steps + self.steps
            stepsSince = now
        }
        return outcome
    }

    /// The uploads of a group that can be judged together at the present state.
    ///
    /// What others have appended since they came may have ended sessions; of one that has ended nobody knows any more what
    /// its user may do, and its client sends them again. It may also have brought rules by which an upload decides what
    /// the author of the next one may do.
    ///
    /// - Parameter left: becomes those that belong behind the group.
    private func divide(_ group: [Upload], into left: inout ArraySlice<Upload>, now: Timestamp) throws -> [Upload] {
        left = []
        guard database.journal != nil, database.storage.head != uploadsHead else { return group }
        let group = group.filter { isOpen($0.session) }
        guard let last = group.firstIndex(where: { concerns($0.changeset) }) else {
            return try group.map { try renew($0, now) }
        }
        left = group[(last + 1)...]
        return try group[...last].map { try renew($0, now) }
    }

    /// Commits a transaction of this process, and returns once it is durable.
    ///
    /// - Parameters:
    ///   - duty: what the server must have when the journal takes it; nil for nothing.
    ///   - transaction: makes the transaction for the present state, again if other engines were first: its upload, nil if
    ///     it writes no object, and what it does to the records of jobs. It also runs again where it writes nothing, or
    ///     throws, by a state that has passed: that makes no group which would be judged at its place.
    /// - Returns: nil if there was nothing to write.
    /// - Throws: what `transaction` throws.
    func commit(
        now: Timestamp, holding duty: HeldDuty?, making transaction: () throws -> (upload: Upload?, jobs: [JobChange])
    ) throws -> Outcome? {
        var isEmpty = false
        var jobs: [JobChange] = []
        func make() throws(Refusal) -> [Upload] {
            do {
                let made = try transaction()
                jobs = made.jobs
                isEmpty = made.upload == nil && jobs.isEmpty
                return made.upload.map { [$0] } ?? []
            } catch { throw Refusal(cause: error) }
        }
        func attempt() throws -> CommittedGroup {
            try pipeline.commit(
                make(), with: isEmpty ? [] : jobs.map(\.step) + ownSteps, holding: duty, now: now,
                following: onFollowed)
        }
        let outcome = outcome(of: []) {
            try database.checkQuota()
            if let duty, !duty.isHeld { throw DutyLost() }
            do {
                let group = try attempt()
                guard isEmpty, try followNews() else { return group }
            } catch let refusal as Refusal {
                guard try followNews() else { throw refusal }
            }
            return try attempt()
        }
        if case .failed(let refusal as Refusal, _) = outcome { throw refusal.cause }
        return isEmpty ? nil : outcome
    }

    /// Applies what other engines have appended.
    ///
    /// - Returns: whether there was anything.
    private func followNews() throws -> Bool {
        let head = database.storage.head
        try catchUp()
        return database.storage.head != head
    }

    /// What is beside a transaction of this process. Uploads of clients have numbers; without one, the same transaction of
    /// two engines would be the same group, which each of them would take for its own.
    private var ownSteps: [JournalStep] { database.journal == nil ? [] : [.mark(random())] }

    /// Commits a group, and says what became of it.
    private func outcome(of authors: [SessionID], _ body: () throws -> CommittedGroup) -> Outcome {
        if let silence = database.silence {
            counts.heldBackCount += UInt64(authors.count)
            return .obstructed(silence, authors)
        }
        do {
            // A database has its file from its first class on. Without one there is nothing that an upload could change,
            // so whoever may not declare classes makes no files.
            let committed = try body()
            counts.note(committed)
            for (classIndex, count) in committed.metCounts.sorted(by: { $0.key < $1.key }) {
                database.note(
                    .debug, "objects were created whose keys other objects had, so they became one",
                    [("class", database.storage.schema[classIndex].name), ("count", "\(count)")])
            }
            return .committed(committed)
        } catch let refusal as Refusal { return .failed(refusal, authors) } catch let lost as DutyLost {
            return .failed(lost, authors)
        } catch {
            if let error = error as? StorageError, database.noteObstacle(error) {
                counts.heldBackCount += UInt64(authors.count)
                return .obstructed(error, authors)
            }
            counts.failedCount += UInt64(authors.count)
            database.noteFailure("a group of uploads was not stored", error)
            return .failed(error, authors)
        }
    }
}

/// Counts what a database has committed since it was opened.
package struct CommitCounts: Sendable, Hashable {
    package internal(set) var commitCount: UInt64 = 0
    package internal(set) var groupCount: UInt64 = 0
    package internal(set) var changedObjectCount: UInt64 = 0
    package internal(set) var supersededOperationCount: UInt64 = 0
    package internal(set) var rejectedChangesetCount: UInt64 = 0
    /// How many sessions had uploads that could not be written at the moment, so that they come again; and that failed.
    package internal(set) var heldBackCount: UInt64 = 0
    package internal(set) var failedCount: UInt64 = 0

    static func += (left: inout CommitCounts, right: CommitCounts) {
        left.commitCount += right.commitCount
        left.groupCount += right.groupCount
        left.changedObjectCount += right.changedObjectCount
        left.supersededOperationCount += right.supersededOperationCount
        left.rejectedChangesetCount += right.rejectedChangesetCount
        left.heldBackCount += right.heldBackCount
        left.failedCount += right.failedCount
    }

    mutating func note(_ group: CommittedGroup) {
        groupCount += 1
        commitCount += UInt64(group.authors.count)
        changedObjectCount += UInt64(group.delta.changeCount)
        supersededOperationCount += UInt64(group.supersededCount)
        rejectedChangesetCount += UInt64(group.rejections.count)
    }
}
