internal import SluiceModel
internal import SluiceQuery
internal import SluiceWire
internal import Synchronization

/// Gives a consumer the parts of what it is still to handle, one at a time, and stores how far it has come.
///
/// Its life: closed, then open with a holder's number that the database knows, then superseded when another consumer has
/// taken the name. One task at a time takes parts.
final class ConsumerReader: Sendable {
    private struct State {
        var isOpen = false
        /// As the database has it.
        var stored: ConsumerState
        /// Beyond the stored checkpoint where the log told of nothing for the query.
        var cursor = ChunkCursor(nil)
        /// Which part was given out last; 0 for none that can be committed.
        var given: UInt64 = 0
        var lastNumber: UInt64 = 0
        /// How many objects were handled since the beginning with all results.
        var done = 0
        /// How many results there were at that beginning.
        var known: Int?
        /// What kept the database from being written since this was last asked; nil if nothing did.
        var obstacle: JobErrorMeaning?
    }

    let host: any JobHost
    let name: String
    private let query: JobQuery
    private let sizes: ChunkSizes
    private let state: Mutex<State>
    /// After how many versions without anything for the consumer its checkpoint is stored all the same, so that the log
    /// need not be kept.
    private static let idleVersionCountMax: UInt64 = 10_000

    init(
        _ host: any JobHost, _ name: String, _ sizes: ChunkSizes, _ query: @escaping JobQuery
    ) {
        self.host = host
        self.sizes = sizes
        self.name = name
        self.query = query
        state = Mutex(State(stored: ConsumerState(holder: .random(in: 1 ... .max), query: "")))
    }

    // MARK: Opening

    /// Takes the name, or begins again at the checkpoint that the database has.
    ///
    /// - Throws: ``JobError/Code/nameTaken``; ``JobError/Code/superseded``; `ServerError`; `QueryError`.
    func open() async throws {
        guard state.withLock({ !$0.isOpen }) else { return try await rewind() }
        try JobError.check(name: name, of: "consumer")
        let text = try await host.text(of: query)
        let holder = state.withLock { $0.stored.holder }
        let opened = try await take(text, holder)
        state.withLock { state in
            state.isOpen = true
            state.stored = opened
            state.cursor = ChunkCursor(opened.checkpoint)
        }
    }

    /// Takes the name, whoever has it.
    private func take(_ text: String, _ holder: UInt64) async throws -> ConsumerState {
        while true {
            let record = try await host.record(ConsumerState.key(name))
            var opened = ConsumerState(holder: holder, query: text)
            if let record {
                opened = try record.decoded(as: ConsumerState.self)
                guard await means(opened.query, text) else {
                    throw JobError(
                        .nameTaken,
                        "the consumer '\(name)' is of the query '\(opened.query)', not of '\(text)': use another name, or "
                            + "remove the consumer with removeConsumer(_:) or 'sluice consumers --remove'")
                }
                opened.holder = holder
                opened.query = text
            }
            // What another one stores meanwhile is looked at again.
            let write = JobWrite(
                ConsumerState.key(name), .set(.never, value: opened.wireBytes()),
                if: record.map { .value($0.value) } ?? .absent)
            if try await host.apply([write]) == [true] { return opened }
            try Task.checkCancellation()
        }
    }

    /// Whether a query that was stored is the same as another: a property of it may have been renamed since.
    private func means(_ stored: String, _ text: String) async -> Bool {
        if stored == text { return true }
        return (try? await host.text { try Query.parse(stored, schema: $0) }) == text
    }

    /// Lets go of what was read, so that it is read again from the checkpoint that the database has.
    func rewind() async throws {
        guard let record = try await host.record(ConsumerState.key(name)) else { throw superseded }
        let stored = try record.decoded(as: ConsumerState.self)
        try state.withLock { state in
            guard stored.holder == state.stored.holder else { throw superseded }
            state.stored = stored
            state.cursor = ChunkCursor(stored.checkpoint)
            state.given = 0
        }
    }

    // MARK: Reading

    /// The next part to handle: the one that was given last, where it was not committed.
    ///
    /// - Parameter limit: at most so many objects.
    /// - Returns: nil if there is nothing at the moment.
    func take(_ limit: Int) async throws -> ChunkPart? {
        while true {
            if let part = state.withLock({ Self.part(of: &$0, limit) }) { return part }
            let (place, isNew) = state.withLock { ($0.cursor.place, $0.known == nil) }
            let chunk = try await host.chunk(after: place, sizes, of: query)
            if chunk.isReading, isNew || chunk.isReset { try await count() }
            let isOver = state.withLock { state in
                if chunk.isReset { state.done = 0 }
                if !chunk.isReading { state.known = nil }
                return state.cursor.take(chunk)
            }
            guard isOver else { continue }
            try await storeIdlePlace()
            return nil
        }
    }

    private static func part(of state: inout State, _ limit: Int) -> ChunkPart? {
        guard let (chunk, range) = state.cursor.next(limit) else { return nil }
        state.lastNumber += 1
        state.given = state.lastNumber
        return ChunkPart(chunk: chunk, range: range, number: state.given, done: state.done, known: state.known)
    }

    private func count() async throws {
        let count = try await host.count(of: query)
        state.withLock { $0.known = max(count, $0.done) }
    }

    /// Stores how far the log was read, where nothing in it was for the consumer for long.
    private func storeIdlePlace() async throws {
        let (stored, place) = state.withLock { ($0.stored, $0.cursor.place) }
        guard let place, place != stored.checkpoint, case .changes(let version, nil, nil, _) = place.place else {
            return
        }
        let before = stored.checkpoint?.version ?? 0
        let isReading = if case .reading? = stored.checkpoint?.place { true } else { stored.checkpoint == nil }
        guard isReading || version - min(before, version) >= Self.idleVersionCountMax else { return }
        var next = stored
        next.checkpoint = place
        try await store(next, []) { _ in }
    }

    // MARK: Committing

    /// Stores that a part was handled, with what follows from it.
    ///
    /// - Parameters:
    ///   - jobs: what else becomes of records.
    ///   - body: writes what follows.
    func commit<Result: Sendable>(
        _ part: ChunkPart, jobs: [JobWrite] = [],
        _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result {
        let stored = try state.withLock { state in
            guard state.given == part.number else {
                throw JobError(
                    .batchOver,
                    "a batch of the consumer '\(name)' was committed before, or comes again: commit each batch once, "
                        + "before the next is taken")
            }
            return state.stored
        }
        var next = stored
        next.checkpoint = part.checkpoint
        next.handledCount += UInt64(part.range.count)
        let result = try await store(next, jobs, body)
        state.withLock { state in
            guard state.given == part.number else { return }
            state.given = 0
            state.done += part.range.count
            state.cursor.advance(to: part.range.upperBound)
        }
        return result
    }

    /// Stores another state, if nobody has taken the name since.
    private func store<Result: Sendable>(
        _ next: ConsumerState, _ jobs: [JobWrite],
        _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result {
        var next = next
        next.committedAt = host.time
        let former = state.withLock { $0.stored.wireBytes() }
        let write = JobWrite(ConsumerState.key(name), .set(.never, value: next.wireBytes()), if: .value(former))
        let result: Result
        do { result = try await host.write([write] + jobs, body) } catch is JobWriteRejection {
            // Another one has the name, or a commit has arrived whose outcome nobody knew.
            try await rewind()
            throw JobError(
                .batchOver,
                "an earlier commit of the consumer '\(name)' was stored after all, so this batch was committed before: "
                    + "take the next one")
        } catch {
            let meaning = host.meaning(ofAny: error)
            if meaning.isOfDatabase { state.withLock { $0.obstacle = meaning } }
            throw error
        }
        state.withLock { $0.stored = next }
        return result
    }

    /// What has kept the database from being written since the last call, whoever was told; nil if nothing did.
    func takeObstacle() -> JobErrorMeaning? {
        state.withLock { state in
            defer { state.obstacle = nil }
            return state.obstacle
        }
    }

    /// - Throws: ``JobError/Code/notCommitted`` if a part was given out and not committed.
    func checkCommitted(_ part: ChunkPart) throws {
        guard state.withLock({ $0.given == part.number }) else { return }
        throw JobError(
            .notCommitted,
            "the consumer '\(name)' has handled a batch without committing it: end each batch with commit(_:)")
    }

    private var superseded: JobError {
        JobError(
            .superseded,
            "another consumer has taken the name '\(name)' since, or it was removed: one process at a time can have it")
    }

    /// What names the state of an object for this consumer.
    func id(of row: Row, ofClass className: String) -> String { "\(name)/\(className)/\(row.key)/\(row.version)" }
}
