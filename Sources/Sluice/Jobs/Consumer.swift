internal import SluiceModel
internal import SluiceWire

/// Handles the results of a query, and then every change of them, exactly once in what it writes to the same database.
///
/// ```swift
/// let late = airport.objects(Departure.self).where { $0.delay >= 60 }
/// try await airport.consumer("alerts", of: late).run { batch in
///     for item in batch.upserts { try await pager.send(item.value, idempotencyKey: item.id) }
///     try await batch.commit { transaction in
///         for item in batch.upserts { try transaction.upsert(Alert(item.value)) }
///         for gone in batch.removals { try transaction.delete(Alert.self, key: gone.key) }
///     }
/// }
/// ```
///
/// The database keeps under the name how far the consumer has come, and ``ConsumerBatch/commit(_:)`` stores that in one
/// transaction with what follows from the batch. So after a kill at any moment it goes on where it was, and nothing is
/// written twice or left out. Effects elsewhere happen at least once, and ``ConsumerBatch/Item/id`` tells a repetition.
///
/// It begins with all results, in the order of their keys. Afterwards it is given what has changed since, each object once
/// with its last state, however long it was away. Two consumers with one name do not share its work: the later takes it
/// over, and the earlier ends with ``JobError/Code/superseded``; or each stands by while another one is at work, see
/// ``Options/onNameHeld``.
public struct Consumer<Element: ResultElement>: Sendable {
    /// How a consumer handles failures, and how much it is given at a time.
    public struct Options: Sendable {
        /// What becomes of an object that cannot be handled.
        public enum Poison: Sendable {
            /// It is left out and kept among the dead letters, and the consumer goes on.
            case park
            /// The consumer ends with the error.
            case stop
        }

        /// What a consumer does where another one has its name and is at work. One that was killed counts as at work for
        /// a minute more.
        public enum NameHeld: Sendable {
            /// It takes the name over, and the other one ends with ``JobError/Code/superseded``.
            case takeOver
            /// It waits until the other one has ended, and takes the name then. It does so as well when another one takes
            /// the name over. Of several instances of a service one works, and the others stand by.
            case standBy
            /// It ends with ``JobError/Code/nameHeld``.
            case stop
        }

        /// The most objects of a batch.
        public var limit = 1_000
        /// What becomes of an object that fails alone.
        public var onPoison = Poison.park
        /// How often a batch is tried before the consumer looks for the object that fails.
        public var attempts = 4
        /// How long to wait before a batch is tried again.
        public var backoff = Backoff.exponential(.seconds(1), max: .seconds(300))
        /// What the consumer does where another one has its name and is at work.
        public var onNameHeld = NameHeld.takeOver
        package var sizes = ChunkSizes()
        /// Told, with ``NameHeld/standBy``, of what becomes of the name.
        package var onNameNews: @Sendable (ConsumerNameNews) -> Void = { _ in }
        /// Told of each object that is given up, once the database has it.
        package var onGivenUp: @Sendable (DeadLetter) -> Void = { _ in }

        /// The options that are used where none are given.
        public init() {}
    }

    /// The name, which is unique among the consumers of the database.
    public let name: String
    private let options: Options
    private let reader: ConsumerReader

    package init(_ host: any JobHost, _ name: String, _ options: Options, of query: @escaping JobQuery) {
        self.name = name
        self.options = options
        reader = ConsumerReader(host, name, options.sizes, isYielding: options.onNameHeld != .takeOver, query)
    }

    // MARK: Handling

    /// Handles batches until the task is cancelled.
    ///
    /// A batch for which `body` throws, or which it does not commit, is tried again after a while. When it has failed
    /// ``Options/attempts`` times, the consumer tries its halves at once, until the object that fails is alone. It tries
    /// this object a second time: after the first wait of ``Options/backoff`` if other objects of the batch succeeded, and
    /// otherwise after a longer one, since then everything may fail. ``Options/onPoison`` says what becomes of the object.
    /// An object that cannot be read as `Element` fails in the same way. The failures are kept with the name, so a consumer
    /// that takes the name over goes on with the search. A batch for which `body` throws ``JobError/tryAgain(_:)`` comes
    /// again as it is, however often.
    ///
    /// - Parameter body: handles a batch and commits it.
    /// - Throws: ``JobError`` when the name is taken, or was taken over; `QueryError`; `ServerError` or ``SyncError`` when
    ///   the database cannot be used any more; with ``Options/Poison/stop`` what `body` throws. It returns when the task is cancelled.
    public func run(_ body: @escaping @Sendable (ConsumerBatch<Element>) async throws -> Void) async throws {
        try await handle(untilDone: false, body)
    }

    /// Handles batches until nothing is left at the moment: a job that is run now and then.
    ///
    /// - Parameter body: as for ``run(_:)``.
    /// - Returns: how many objects were handled.
    /// - Throws: as ``run(_:)``; `CancellationError` when the task was cancelled.
    @discardableResult
    public func runOnce(_ body: @escaping @Sendable (ConsumerBatch<Element>) async throws -> Void) async throws -> Int {
        let count = try await handle(untilDone: true, body)
        try Task.checkCancellation()
        return count
    }

    @discardableResult
    private func handle(
        untilDone: Bool, _ body: @Sendable (ConsumerBatch<Element>) async throws -> Void
    ) async throws -> Int {
        var count = 0
        while let holding = try await hold() {
            do {
                try await handle(untilDone: untilDone, holding, &count, body)
                await holding.end()
                break
            } catch {
                if try await standsBy(after: error) { continue }
                // Another one has the name, or nobody can be told that it is free.
                if reader.host.meaning(ofAny: error).endsJob { holding.abandon() } else { await holding.end() }
                throw error
            }
        }
        return count
    }

    /// Handles batches while it has the name.
    private func handle(
        untilDone: Bool, _ holding: ConsumerHolding, _ count: inout Int,
        _ body: @Sendable (ConsumerBatch<Element>) async throws -> Void
    ) async throws {
        var retries = Retries(options.limit, attempts: options.attempts, options.backoff, reader.trial)
        var obstruction = Obstruction(options.backoff)
        // What was given out is to be read again.
        var mustRewind = false
        // The state of an object that has failed alone often enough; nil for the beginning of a reset without one.
        var poison: (state: ChunkPart.State?, error: any Error)?
        while !Task.isCancelled {
            var given: ChunkPart?
            do {
                if mustRewind { try await reader.rewind() }
                mustRewind = false
                guard var part = try await reader.take(poison == nil ? retries.limit : 1) else {
                    if untilDone { break }
                    poison = nil
                    obstruction.noteEnd()
                    await holding.waitForMore()
                    continue
                }
                part.trialAfterwards = retries.trial(after: { $0.noteSuccess(of: part.range.count) })
                if let found = poison, found.state == nil ? part.isReset : found.state == part.firstState {
                    if part.isReset, found.state != nil {
                        // The object is left out, and what was derived before is to be removed all the same.
                        given = part.beginning
                        try await handle(part.beginning, body)
                        retries.noteSuccess(of: 0)
                    } else {
                        part.trialAfterwards = retries.trial(after: { $0.noteGivenUp() })
                        try await park(found.state == nil ? part.beginning : part, found.error)
                        retries.noteGivenUp()
                        poison = nil
                    }
                } else {
                    given = part
                    try await handle(part, body)
                    count += part.range.count
                    retries.noteSuccess(of: part.range.count)
                    poison = nil
                }
                obstruction.noteEnd()
            } catch {
                if Task.isCancelled { break }
                let meaning = reader.host.meaning(ofAny: error)
                // What its user may not write is a fault of the batch. Where its right to run jobs is what is missing, it
                // is told so when it asks how far it has come.
                let isRefused = meaning == .notPermitted && given != nil
                if meaning.endsJob, !isRefused { throw error }
                mustRewind = mustRewind || isRefused
                let obstacle = reader.takeObstacle() ?? (given == nil && meaning.isOfDatabase ? meaning : nil)
                // Nobody knows how far the consumer has come.
                mustRewind = mustRewind || obstacle == .outcomeUnknown
                if obstacle != nil {
                    // No batch is to blame.
                    await obstruction.wait(because: error, on: reader.host)
                    continue
                }
                guard let part = given else { throw error }
                if (error as? JobError)?.code == .batchOver, !reader.isGiven(part) {
                    // It was committed, or what was given since counts.
                    continue
                }
                if (error as? JobError)?.code == .tryAgain {
                    let wait = retries.notePutOff()
                    reader.host.note(
                        .info, "a consumer's batch is put off", [("consumer", name), ("error", "\(error)")])
                    await reader.host.sleep(until: reader.host.time.advanced(by: wait))
                    continue
                }
                let wait = retries.noteFailure(of: part.range.count)
                if wait == nil {
                    guard options.onPoison == .park else { throw error }
                    poison = (part.firstState, error)
                }
                // Who takes the name over goes on with what was found out.
                let isNoted = await reader.note(retries.trial)
                mustRewind = mustRewind || !isNoted
                if let wait { await reader.host.sleep(until: reader.host.time.advanced(by: wait)) }
            }
        }
    }

    private func handle(
        _ part: ChunkPart, _ body: @Sendable (ConsumerBatch<Element>) async throws -> Void
    ) async throws {
        try await body(try batch(part))
        try reader.checkCommitted(part)
    }

    // MARK: The name

    /// Takes the name, as soon as it can be had.
    ///
    /// - Returns: nil when the task is cancelled while the database cannot be used, or another one has the name.
    private func hold() async throws -> ConsumerHolding? {
        var obstruction = Obstruction(options.backoff)
        var isStandingBy = false
        while true {
            do {
                try await reader.open()
                if isStandingBy { options.onNameNews(.taken) }
                return ConsumerHolding(reader)
            } catch let error as JobError where error.code == .nameHeld && options.onNameHeld == .standBy {
                if !isStandingBy { noteStandby() }
                isStandingBy = true
                await reader.host.sleep(until: reader.host.time.advanced(by: ConsumerReader.standbyBeat))
            } catch {
                guard await obstruction.outlast(error, on: reader.host) else { throw error }
            }
            if Task.isCancelled { return nil }
        }
    }

    private func noteStandby() {
        reader.host.note(.info, "a consumer stands by, since another one has its name", [("consumer", name)])
        options.onNameNews(.standsBy(reader.nameHolder))
    }

    /// Whether it waits for the name once more after an error: another one has taken it.
    private func standsBy(after error: any Error) async throws -> Bool {
        guard (error as? JobError)?.code == .superseded, options.onNameHeld == .standBy else { return false }
        let isThere = try await reader.letGo()
        if isThere { options.onNameNews(.lost) }
        return isThere
    }

    /// Leaves out the object of a part, and keeps it among the dead letters.
    private func park(_ part: ChunkPart, _ error: any Error) async throws {
        let (host, className) = (reader.host, part.chunk.className)
        guard let item = part.first else {
            try await reader.commit(part) { _ in }
            return host.note(
                .error, "a consumer goes on, and what it has derived before it began anew was not removed",
                [("consumer", name), ("error", "\(error)")])
        }
        let version = if case .upsert(let row) = item { row.version } else { part.chunk.version }
        let letter = DeadLetterRecord(
            error, attemptCount: options.attempts, time: host.time, version: version)
        let key = DeadLetterRecord.key(
            Identity(className: className, key: item.key), in: ConsumerState.deadSpace(name))
        let dead = JobRecord(key, value: letter.wireBytes())
        try await reader.commit(part, leavingOut: [JobWrite(key, .set(.never, value: dead.value))]) { _ in }
        host.note(
            .error, "a consumer has given up an object",
            [("consumer", name), ("class", className), ("error", letter.error)])
        options.onGivenUp(try DeadLetter(dead))
    }

    /// The batches as a sequence: a loop over it handles and commits each. A batch that was not committed comes again with
    /// the next step, and an error that the loop's body throws ends the loop; ``run(_:)`` tries again. The consumer has its
    /// name until the iterator is gone.
    public var batches: ConsumerBatches<Element> { ConsumerBatches(self) }

    fileprivate func next(_ holding: inout ConsumerHolding?) async throws -> ConsumerBatch<Element>? {
        while !Task.isCancelled {
            do {
                if holding == nil { holding = try await hold() }
                guard let held = holding else { break }
                if let part = try await reader.take(options.limit) { return try batch(part) }
                await held.waitForMore()
            } catch {
                guard try await standsBy(after: error) else { throw error }
                holding = nil
            }
        }
        await holding?.end()
        holding = nil
        return nil
    }

    private func batch(_ part: ChunkPart) throws -> ConsumerBatch<Element> {
        let (upserts, removals): ([ConsumerBatch<Element>.Item], [ConsumerBatch<Element>.Removal]) =
            try part.chunk.items(in: part.range, of: reader.host, for: name)
        return ConsumerBatch(part, upserts: upserts, removals: removals, reader: reader)
    }
}

/// The batches of a consumer as an asynchronous sequence; see ``Consumer/batches``.
public struct ConsumerBatches<Element: ResultElement>: AsyncSequence, Sendable {
    private let consumer: Consumer<Element>

    init(_ consumer: Consumer<Element>) { self.consumer = consumer }

    /// Makes an iterator, which takes the consumer's name with its first ``Iterator/next()``.
    public func makeAsyncIterator() -> Iterator { Iterator(consumer: consumer) }

    /// Takes one batch after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let consumer: Consumer<Element>
        private var holding: ConsumerHolding?

        init(consumer: Consumer<Element>) { self.consumer = consumer }

        /// Waits for the next batch, or the same again if it was not committed; nil when the task was cancelled.
        ///
        /// - Throws: as ``Consumer/run(_:)``; `ModelError` for the first object that cannot be read as its type.
        public mutating func next() async throws -> ConsumerBatch<Element>? {
            try await consumer.next(&holding)
        }
    }
}
