public import FoundationEssentials
public import Sluice
public import SluiceModel
internal import SluiceQuery
internal import SluiceServer
internal import SluiceStorage

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
        /// systems can recognise a repetition.
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
    private let results: ServerResults<Element>
    private let options: Options

    init(_ results: ServerResults<Element>, _ name: String, _ options: Options) {
        self.name = name
        self.results = results
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
    /// - Throws: ``JobError`` for a name that cannot be one; `QueryError`; `ServerError` when the database cannot be used.
    public func run(
        workers: Int = 1, _ body: @escaping @Sendable (Element, Claim) async throws -> Completion
    ) async throws { try await work(workers, untilDone: false, body) }

    /// Works at rows until none is due: a job that is run now and then. Rows that are to be tried again later do not count.
    ///
    /// - Parameters: as for ``run(workers:_:)``.
    /// - Returns: how many rows were done.
    /// - Throws: as ``run(workers:_:)``; `CancellationError` when the task was cancelled.
    @discardableResult
    public func runOnce(
        workers: Int = 1, _ body: @escaping @Sendable (Element, Claim) async throws -> Completion
    ) async throws -> Int {
        let count = try await work(workers, untilDone: true, body)
        try Task.checkCancellation()
        return count
    }

    @discardableResult
    private func work(
        _ workers: Int, untilDone: Bool, _ body: @escaping @Sendable (Element, Claim) async throws -> Completion
    ) async throws -> Int {
        try JobError.check(name: name, of: "queue")
        let desk = ClaimDesk(
            results.database, name, lease: options.lease, attempts: options.attempts, options.backoff
        ) { [results] in try results.query(in: $0) }
        let (judge, countMax) = (judge, max(1, workers))
        var doneCount = 0
        try await withThrowingTaskGroup(of: Event.self) { group in
            group.addTask {
                await desk.keepLeases()
                return .other
            }
            var (busy, isWaiting) = (0, false)
            while !Task.isCancelled {
                let claims = try await desk.claim(countMax - busy, judge)
                busy += claims.count
                for claim in claims { group.addTask { .finished(isDone: await finish(claim, desk, body)) } }
                if busy == 0, untilDone { break }
                if busy < countMax, !isWaiting {
                    isWaiting = true
                    group.addTask {
                        await desk.waitForWork()
                        return .woke
                    }
                }
                switch try await group.next() {
                case .finished(let isDone)?:
                    busy -= 1
                    if isDone { doneCount += 1 }
                case .woke?: isWaiting = false
                case .other?, nil: break
                }
            }
            group.cancelAll()
            while let event = try await group.next() { if case .finished(isDone: true) = event { doneCount += 1 } }
        }
        return doneCount
    }

    /// What a run waits for.
    private enum Event: Sendable {
        case finished(isDone: Bool)
        case woke
        case other
    }

    /// What is asked of a row before it is claimed; nil for nothing.
    private var judge: ClaimDesk.Judge? {
        let (options, bindings) = (options, results.database.bindings)
        guard options.partition != nil || options.notBefore != nil else { return nil }
        return { row, classIndex, schema in
            let element = try Element.decode(
                row, bindings.binding(of: Element.self, classIndex: classIndex, schema: schema))
            return .init(
                partition: options.partition?(element), notBefore: options.notBefore?(element).map { Timestamp($0) })
        }
    }

    /// - Returns: whether the row is done.
    private func finish(
        _ claimed: ClaimDesk.Claimed, _ desk: ClaimDesk,
        _ body: @Sendable (Element, Claim) async throws -> Completion
    ) async -> Bool {
        do {
            let binding = try results.database.bindings.binding(
                of: Element.self, classIndex: claimed.classIndex, schema: claimed.schema)
            let claim = Claim(
                id: "\(name)/\(claimed.identity.className)/\(claimed.identity.key)/\(claimed.row.version)",
                identity: claimed.identity, attempt: claimed.attempt)
            let completion = try await body(try Element.decode(claimed.row, binding), claim)
            try await desk.complete(claimed, completion)
            return true
        } catch {
            await desk.fail(claimed, error)
            return false
        }
    }

    // MARK: Dead rows

    /// The rows that have failed for good, by key. One that was changed since is due again, and is not dead any more once
    /// it is claimed.
    ///
    /// - Throws: `ServerError` when the database cannot be used.
    public func dead() async throws -> [DeadLetter] {
        try await results.database.deadLetters(ofSpace: QueueClaim.deadSpace(name))
    }

    /// Makes a dead row due again, as if it had never been tried.
    ///
    /// - Throws: `ServerError` when the database cannot be written.
    public func retry(_ object: Identity) async throws {
        let keys = [QueueClaim.deadSpace(name), QueueClaim.space(name)].map { DeadLetterRecord.key(object, in: $0) }
        try await results.database.writeJobs { _ in ((), keys.map { .remove($0) }) }
    }
}

extension ServerDatabase {
    /// Makes a queue of a query's results. Making it does nothing: ``WorkQueue/run(workers:_:)`` works at rows.
    ///
    /// - Parameters:
    ///   - name: names the queue among those of the database; everybody who works at it uses the same.
    ///   - results: the rows to work at, in their order.
    ///   - options: how rows are claimed and tried again.
    public func queue<Element: ResultElement>(
        _ name: String, of results: ServerResults<Element>, options: WorkQueue<Element>.Options = .init()
    ) -> WorkQueue<Element> { WorkQueue(results, name, options) }
}
