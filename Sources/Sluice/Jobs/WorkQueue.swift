public import FoundationEssentials
public import SluiceModel
internal import SluiceQuery
internal import SluiceWire

/// A query whose results are work to be done: each row by one worker at a time, until it matches no more.
///
/// ```swift
/// let mails = shop.queue("mail", of: shop.objects(Mail.self).where { !$0.isSent }.sorted(by: \.createdAt))
/// try await mails.run(workers: 8) { mail, claim in
///     try await smtp.send(mail, idempotencyKey: claim.id)
///     return { transaction in try transaction.update(mail) { $0.isSent = true } }
/// }
/// ```
///
/// A row is due when it matches and nobody holds it. A worker claims it for the time of a lease, which is extended while
/// the worker runs; if its process dies, another one has the row when the lease has ended. What the worker returns is
/// written in one transaction with the end of the claim, so it is written exactly once. Effects elsewhere happen at least
/// once, and ``Claim/id`` tells a repetition.
///
/// Any number of processes that have the server, and servers of a cluster, may run one queue. Enqueueing is writing a row,
/// by any client, offline too.
public struct WorkQueue<Element: ResultElement>: Sendable {
    /// How rows are claimed and tried again.
    public struct Options: Sendable {
        /// How long a worker that no longer answers holds a row.
        public var lease = Duration.seconds(30)
        /// How often a row is tried before it counts as dead.
        public var attempts = 8
        /// How long to wait before a row is tried again.
        public var backoff = Backoff.exponential(.seconds(1), max: .seconds(600))
        /// Rows for which this returns the same are worked at one after the other; nil if all may run at once.
        public var partition: (@Sendable (Element) -> String)?
        /// Before which time a row must not be worked at; nil, also as its result, for at once.
        public var notBefore: (@Sendable (Element) -> Date?)?

        /// The options that are used where none are given.
        public init() {}
    }

    /// A worker's right to a row.
    public struct Claim: Sendable {
        /// Names the row in this queue. It is the same with each attempt at the same state of the row, so that other
        /// systems can recognise a repetition, and another one for every other state, also after a backup was put back.
        public let id: String
        /// The row's class and key.
        public let identity: Identity
        /// Which attempt this is, from 1.
        public let attempt: Int
    }

    /// What is written together with the end of a claim. It must change the row so that it matches no more, or delete it.
    public typealias Completion = @Sendable (borrowing WriteTransaction) throws -> Void

    /// The name, which is unique among the queues of the database.
    public let name: String
    private let host: any JobHost
    private let query: JobQuery
    private let options: Options

    package init(_ host: any JobHost, _ name: String, _ options: Options, of query: @escaping JobQuery) {
        self.name = name
        self.host = host
        self.query = query
        self.options = options
    }

    // MARK: Working

    /// Works at rows until the task is cancelled. Then no row is begun any more, and this returns when the workers have
    /// ended; rows at which they stopped are due again at once.
    ///
    /// - Parameters:
    ///   - workers: how many rows are worked at at the same time.
    ///   - body: works at a row, and returns what is written when it is done. A row for which it throws, or which still
    ///     matches afterwards, is tried again after ``Options/backoff``, and counts as dead after ``Options/attempts``.
    /// - Throws: ``JobError`` for a name that cannot be one; `QueryError`; `ServerError` or ``SyncError`` when the
    ///   database cannot be used.
    public func run(
        workers: Int = 1, _ body: @escaping @Sendable (Element, Claim) async throws -> Completion
    ) async throws {
        try await work(workers, batch: 1, untilDone: false) { try await body($0[0].element, $0[0].claim) }
    }

    /// Works at rows until none is due: a job that is run now and then. Rows that are to be tried again later do not count,
    /// and one that `body` puts off with ``JobError/tryAgain(_:)`` is left for the next run.
    ///
    /// - Parameters: as for ``run(workers:_:)``.
    /// - Returns: how many rows were done.
    /// - Throws: as ``run(workers:_:)``; `CancellationError` when the task was cancelled.
    @discardableResult
    public func runOnce(
        workers: Int = 1, _ body: @escaping @Sendable (Element, Claim) async throws -> Completion
    ) async throws -> Int {
        let count = try await work(workers, batch: 1, untilDone: true) { try await body($0[0].element, $0[0].claim) }
        try Task.checkCancellation()
        return count
    }

    /// Works at rows as ``run(workers:_:)`` and ``runOnce(workers:_:)``, at several by one call of `body`: what it returns
    /// ends all their claims in one transaction. A row that has failed is tried again alone.
    ///
    /// - Parameters:
    ///   - batch: the most rows of a call, of which no more than 1,000 are in one, and 500 with ``Options/partition``.
    ///   - untilDone: whether to end when no row is due.
    ///   - onEnd: told of the rows of each call, and why they are not done; nil if they are.
    ///   - onIdle: told, where it ends because no row is due, of those that wait for another try, whoever has tried
    ///     them, and of those that others hold.
    ///   - onGivenUp: told of each row that is given up, once the database has it.
    /// - Returns: how many rows were done.
    @discardableResult
    package func work(
        _ workers: Int, batch: Int, untilDone: Bool,
        onEnd: @escaping @Sendable ([Claim], (any Error)?) async -> Void = { _, _ in },
        onIdle: (WaitingTries) -> Void = { _ in },
        onGivenUp: @escaping @Sendable (DeadLetter) -> Void = { _ in },
        _ body: @escaping @Sendable ([(element: Element, claim: Claim)]) async throws -> Completion
    ) async throws -> Int {
        try JobError.check(name: name, of: "queue")
        // The end of each row is a change of a record, or two, in one transaction.
        let rowCountMax = JobWrite.countMax / (options.partition == nil ? 1 : 2)
        let desk = ClaimDesk(
            host, name, lease: options.lease, attempts: options.attempts, options.backoff, isOnce: untilDone, query,
            onGivenUp: onGivenUp)
        let (judge, countMax, batch) = (judge, max(1, workers), max(1, min(batch, rowCountMax)))
        let claimCount = min(countMax, ClaimDesk.claimCountMax / batch + 1) * batch
        var doneCount = 0
        try await withThrowingTaskGroup(of: Event.self) { group in
            group.addTask {
                await desk.keepLeases()
                return .other
            }
            var (busy, isWaiting) = (0, false)
            // The times that are waited for. A wait goes on when something else wakes the run: what counts the time keeps
            // each that was given up until its time comes, and there may be one for each commit.
            var alarms: Set<Timestamp> = []
            var obstruction = Obstruction(options.backoff)
            var claimed: [[ClaimedRow]] = []
            while !Task.isCancelled {
                // As many as there are workers, also while some of them work: each claim is a transaction.
                if claimed.isEmpty, busy < countMax {
                    do {
                        claimed = Self.batches(of: try await desk.claim(claimCount, again: countMax, judge), batch)
                        obstruction.noteEnd()
                    } catch {
                        guard await obstruction.outlast(error, on: host) else { throw error }
                        continue
                    }
                }
                while busy < countMax, !claimed.isEmpty {
                    let next = claimed.removeFirst()
                    busy += 1
                    group.addTask { .finished(await finish(next, desk, onEnd, body)) }
                }
                if busy == 0, untilDone {
                    onIdle(desk.waiting)
                    break
                }
                if busy < countMax, !desk.isHoldingOneAlone {
                    if !isWaiting {
                        isWaiting = true
                        group.addTask {
                            await desk.waitForArrival()
                            return .woke
                        }
                    }
                    if let next = desk.nextDue, alarms.min().map({ next < $0 }) ?? true {
                        alarms.insert(next)
                        group.addTask {
                            await desk.wait(until: next)
                            return .due(next)
                        }
                    }
                }
                switch try await group.next() {
                case .finished(let count)?:
                    busy -= 1
                    doneCount += count
                case .woke?: isWaiting = false
                case .due(let time)?: alarms.remove(time)
                case .other?, nil: break
                }
            }
            group.cancelAll()
            while let event = try await group.next() { if case .finished(let count) = event { doneCount += count } }
            for row in claimed.joined() { await desk.fail(row, CancellationError(), isAlone: true) }
        }
        await desk.close()
        return doneCount
    }

    /// Rows that are worked at together: those that have failed before alone.
    private static func batches(of claimed: [ClaimedRow], _ count: Int) -> [[ClaimedRow]] {
        var batches: [[ClaimedRow]] = []
        var isOpen = false
        for row in claimed {
            if row.attempt == 1, isOpen, let last = batches.last, last.count < count {
                batches[batches.count - 1].append(row)
            } else {
                batches.append([row])
                isOpen = row.attempt == 1
            }
        }
        return batches
    }

    /// What a run waits for.
    private enum Event: Sendable {
        case finished(Int)
        /// Something was committed.
        case woke
        /// A time has come.
        case due(Timestamp)
        case other
    }

    /// What is asked of a row before it is claimed; nil for nothing.
    private var judge: ClaimDesk.Judge? {
        let (options, host) = (options, host)
        guard options.partition != nil || options.notBefore != nil else { return nil }
        return { row, classIndex, schema in
            let element = try Element.decode(
                row, host.binding(of: Element.self, classIndex: classIndex, schema: schema))
            return .init(
                partition: options.partition?(element), notBefore: options.notBefore?(element).map { Timestamp($0) })
        }
    }

    /// - Returns: how many rows are done: all or none.
    private func finish(
        _ rows: [ClaimedRow], _ desk: ClaimDesk,
        _ onEnd: @Sendable ([Claim], (any Error)?) async -> Void,
        _ body: @Sendable ([(element: Element, claim: Claim)]) async throws -> Completion
    ) async -> Int {
        let claims = rows.map { row in
            Claim(
                id: StateName.of(row.row, ofClass: row.identity.className, row.epochs, for: name),
                identity: row.identity, attempt: row.attempt)
        }
        do {
            let elements = try zip(rows, claims).map { row, claim in
                let binding = try host.binding(of: Element.self, classIndex: row.classIndex, schema: row.schema)
                return (element: try Element.decode(row.row, binding), claim: claim)
            }
            try await desk.complete(rows, try await body(elements))
            await onEnd(claims, nil)
            return rows.count
        } catch {
            for row in rows { await desk.fail(row, error, isAlone: rows.count == 1) }
            await onEnd(claims, error)
            return 0
        }
    }

    // MARK: Dead rows

    /// The rows that have failed for good, by key. One that was changed since is due again, and is not dead any more once
    /// it is claimed.
    ///
    /// - Throws: `ServerError` or ``SyncError`` when the database cannot be used.
    public func dead() async throws -> [DeadLetter] { try await Jobs(host).deadRows(ofQueue: name) }

    /// Makes a dead row due again, as if it had never been tried.
    ///
    /// - Returns: false if the row is not dead.
    /// - Throws: `ServerError` or ``SyncError`` when the database cannot be written.
    @discardableResult
    public func retry(_ object: Identity) async throws -> Bool {
        try await Jobs(host).retryDeadRow(object, ofQueue: name)
    }

    /// Has ``dead()`` list a dead row no more. It is not worked at until it changes.
    ///
    /// - Returns: false if the row is not dead, or was discarded before.
    /// - Throws: `ServerError` or ``SyncError`` when the database cannot be written.
    @discardableResult
    public func discard(_ object: Identity) async throws -> Bool {
        try await Jobs(host).discardDeadRow(object, ofQueue: name)
    }
}
