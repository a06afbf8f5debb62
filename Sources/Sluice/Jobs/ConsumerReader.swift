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
        /// The place of another history behind which ``cursor`` began anew; nil once something was stored since.
        var lostPlace: Checkpoint?
        /// Which part was given out last; 0 for none that can be committed.
        var given: UInt64 = 0
        var lastNumber: UInt64 = 0
        /// How many objects were handled since the beginning with all results.
        var done = 0
        /// How many results there were at that beginning.
        var known: Int?
        /// What kept the database from being written since this was last asked; nil if nothing did.
        var obstacle: JobErrorMeaning?
        /// When the place was stored last.
        var placedAt: Timestamp?
        /// Who had the name when it could not be had.
        var nameHolder = NameHolder()

        /// Goes on where the database has it.
        mutating func goOn(_ stored: ConsumerState, at place: Checkpoint?) {
            self.stored = stored
            cursor = ChunkCursor(place)
            lostPlace = nil
            given = 0
            done = Int(clamping: stored.done)
            known = stored.known.map { Int(clamping: $0) }
        }
    }

    let host: any JobHost
    let name: String
    private let query: JobQuery
    private let sizes: ChunkSizes
    private let parked: ParkedObjects
    private let state: Mutex<State>
    /// After how many versions without anything for the consumer its checkpoint is stored all the same, so that the log
    /// need not be kept.
    private static let idleVersionCountMax: UInt64 = 10_000
    /// How long a name counts as held after its holder was last heard of.
    static let hold = Duration.seconds(60)
    /// How often its holder is heard of, and stores how far it has read.
    static let beat = hold / 3
    /// How often a consumer that stands by asks for the name.
    static let standbyBeat = hold / 12
    /// Whether a name whose holder is at work is left alone.
    private let isYielding: Bool

    init(
        _ host: any JobHost, _ name: String, _ sizes: ChunkSizes, isYielding: Bool, _ query: @escaping JobQuery
    ) {
        self.host = host
        self.sizes = sizes
        self.name = name
        self.isYielding = isYielding
        self.query = query
        parked = ParkedObjects(host, name, query)
        state = Mutex(State(stored: ConsumerState(holder: .random(in: 1 ... .max), query: "")))
    }

    private var key: JobRecord.Key { ConsumerState.key(name) }

    // MARK: Opening

    /// Takes the name, or begins again at the checkpoint that the database has.
    ///
    /// - Throws: ``JobError/Code/nameTaken``; ``JobError/Code/nameHeld``; ``JobError/Code/superseded``; `ServerError`;
    ///   `QueryError`.
    func open() async throws {
        guard state.withLock({ !$0.isOpen }) else {
            try await rewind()
            return
        }
        try JobError.check(name: name, of: "consumer")
        let text = try await host.text(of: query)
        let holder = state.withLock { $0.stored.holder }
        let opened = try await take(text, holder, isYielding: isYielding)
        state.withLock { state in
            state.isOpen = true
            state.goOn(opened, at: opened.checkpoint)
        }
        try await parked.read()
    }

    /// Takes the name, whoever has it.
    ///
    /// - Parameter isYielding: whether not to take it from one that is at work.
    private func take(_ text: String, _ holder: UInt64, isYielding: Bool) async throws -> ConsumerState {
        while true {
            let record = try await host.record(key)
            var opened = ConsumerState(holder: holder, query: text)
            // It has the name already where the answer was lost.
            var yields = isYielding
            if let record {
                opened = try record.decoded(as: ConsumerState.self)
                yields = isYielding && opened.holder != holder
                guard await means(opened.query, text) else {
                    throw JobError.nameTaken(name, of: opened.query, not: text)
                }
                opened.holder = holder
                opened.query = text
            }
            // What another one stores meanwhile is looked at again.
            let write = JobWrite(
                key, .set(.after(Self.hold), value: opened.wireBytes()),
                if: record.map { yields ? .overdue($0.value) : .value($0.value) } ?? .absent)
            if try await host.apply([write]) == [true] { return opened }
            if yields, let record {
                let found = NameHolder(record, opened, hold: Self.hold)
                state.withLock { $0.nameHolder = found }
                throw JobError.nameHeld(name, by: found, hold: Self.hold)
            }
            try Task.checkCancellation()
        }
    }

    /// Whether a query that was stored is the same as another: a property of it may have been renamed since.
    private func means(_ stored: String, _ text: String) async -> Bool {
        if stored == text { return true }
        return (try? await host.text { try Query.parse(stored, schema: $0) }) == text
    }

    /// Lets go of what was read, so that it is read again from the checkpoint that the database has.
    ///
    /// - Returns: whether the name was taken again, because the database has another history and another holder's number
    ///   with it. What is read next begins anew then.
    @discardableResult
    func rewind() async throws -> Bool {
        let record = try await host.record(key)
        let (mine, place) = state.withLock { ($0.stored, $0.lostPlace ?? $0.cursor.chunk?.end ?? $0.cursor.place) }
        if let record {
            let stored = try record.decoded(as: ConsumerState.self)
            if stored.holder == mine.holder {
                state.withLock { $0.goOn(stored, at: stored.checkpoint) }
                // What nobody knew of may have been that an object was given up.
                try await parked.read()
                return false
            }
        }
        // A backup that was put back has brought who had the name then.
        guard let place, try await isOfOtherHistory(place) else { throw JobError.superseded(name) }
        let taken = try await take(try await host.text(of: query), mine.holder, isYielding: false)
        state.withLock { $0.goOn(taken, at: place) }
        try await parked.read()
        return true
    }

    private func isOfOtherHistory(_ place: Checkpoint) async throws -> Bool {
        var sizes = sizes
        sizes.rowCountMax = 1
        return try await host.chunk(after: place, sizes, of: query).isOtherHistory
    }

    /// Tells the database now and then that the name is held, until the task is cancelled.
    func holdName() async {
        while !Task.isCancelled {
            await host.sleep(until: host.time.advanced(by: Self.beat))
            if Task.isCancelled { return }
            let stored = state.withLock { $0.stored }
            let write = replacing(stored, by: stored)
            // Where it fails, who asks for the name may have it.
            do { _ = try await host.apply([write]) } catch { if host.meaning(ofAny: error).endsJob { return } }
        }
    }

    /// The change of what is stored, which counts if nobody has changed it since.
    private func replacing(_ former: ConsumerState, by next: ConsumerState, isHeld: Bool = true) -> JobWrite {
        JobWrite(
            key, .set(isHeld ? .after(Self.hold) : .never, value: next.wireBytes()), if: .value(former.wireBytes()))
    }

    /// Lets go of the name, so that others need not wait, and stores how far the log was read.
    func leave() async {
        let (stored, place) = state.withLock { ($0.stored, $0.cursor.chunk == nil ? $0.cursor.place : nil) }
        var next = stored
        if let place, case .changes(_, nil, nil, _) = place.place { next.checkpoint = place }
        let write = replacing(stored, by: next, isHeld: false)
        // The name is free by itself after a while.
        guard let made = try? await host.apply([write]), made == [true] else { return }
        state.withLock { $0.stored = next }
    }

    /// Who had the name when it could not be had.
    var nameHolder: NameHolder { state.withLock { $0.nameHolder } }

    /// What an earlier holder of the name, or this one, has found out of an object that fails.
    var trial: ConsumerTrial? { state.withLock { $0.stored.trial } }

    /// Stores what was found out of an object that fails.
    ///
    /// - Returns: whether what the database has is known afterwards.
    func note(_ trial: ConsumerTrial?) async -> Bool {
        let stored = state.withLock { $0.stored }
        var next = stored
        next.trial = trial
        guard next != stored else { return true }
        let write = replacing(stored, by: next)
        guard let made = try? await host.apply([write]), made == [true] else { return false }
        state.withLock { $0.stored = next }
        return true
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
            if chunk.isReset { await parked.beginAnew() }
            let isOver = state.withLock { state in
                if chunk.isReset { state.done = 0 }
                if chunk.isOtherHistory { state.lostPlace = place }
                if case .changes = chunk.begin.place { state.known = nil }
                return state.cursor.take(chunk)
            }
            guard isOver else { continue }
            await parked.removeGone()
            if let retried = try await parked.retried(at: chunk.end, sizes.objectCountMax) {
                state.withLock { _ = $0.cursor.take(retried) }
                continue
            }
            try await storeIdlePlace()
            return nil
        }
    }

    private static func part(of state: inout State, _ limit: Int) -> ChunkPart? {
        guard let (chunk, range) = state.cursor.next(limit) else { return nil }
        state.lastNumber += 1
        state.given = state.lastNumber
        return ChunkPart(
            chunk: chunk, range: range, number: state.given, done: state.done, known: state.known,
            basis: state.stored.checkpoint?.wireBytes() ?? [])
    }

    private func count() async throws {
        let count = try await host.count(of: query)
        state.withLock { $0.known = max(count, $0.done) }
    }

    /// Whether the log was read further than the database knows, and nothing in it was for the consumer.
    var isAheadOfStored: Bool {
        state.withLock { state in
            guard state.cursor.chunk == nil, let place = state.cursor.place, place != state.stored.checkpoint,
                case .changes(_, nil, nil, _) = place.place
            else { return false }
            return true
        }
    }

    /// Stores how far the log was read, where nothing in it was for the consumer for long.
    func storeIdlePlace() async throws {
        let (stored, place, placedAt) = state.withLock { ($0.stored, $0.cursor.place, $0.placedAt) }
        guard isAheadOfStored, let place, let version = place.version else { return }
        let before = stored.checkpoint?.version ?? 0
        let isReading = if case .reading? = stored.checkpoint?.place { true } else { stored.checkpoint == nil }
        let isLongAgo = placedAt.map { host.time >= $0.advanced(by: Self.beat) } ?? false
        if placedAt == nil { state.withLock { $0.placedAt = host.time } }
        guard isReading || isLongAgo || version - min(before, version) >= Self.idleVersionCountMax else { return }
        var next = stored
        next.checkpoint = place
        next.committedAt = host.time
        // A transaction would be a version, and then the log could be read further once more.
        let write = replacing(stored, by: next)
        guard try await host.apply([write]) == [true] else {
            try await rewind()
            return
        }
        noteStored(next)
    }

    // MARK: Committing

    /// Stores that a part was handled, with what follows from it.
    ///
    /// - Parameters:
    ///   - letters: the dead letters of objects that are left out.
    ///   - body: writes what follows.
    func commit<Result: Sendable>(
        _ part: ChunkPart, leavingOut letters: [JobWrite] = [],
        _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result {
        let (stored, done) = try state.withLock { state in
            guard state.given == part.number else {
                throw JobError(
                    .batchOver,
                    "a batch of the consumer '\(name)' was committed before, or comes again: commit each batch once, "
                        + "before the next is taken")
            }
            return (state.stored, state.done + (part.chunk.isBehindPlace ? 0 : part.range.count))
        }
        var next = stored
        next.checkpoint = part.checkpoint
        next.done = UInt64(clamping: done)
        next.known = part.known.map { UInt64(clamping: $0) }
        next.handledCount += UInt64(part.range.count)
        next.trial = part.trialAfterwards
        // What is handled is given up no more.
        let removal = letters.isEmpty ? parked.removal(of: part) : nil
        let result = try await store(next, letters + (removal?.writes ?? []), body)
        if let removal { await parked.note(removal) }
        parked.note(letters)
        state.withLock { state in
            guard state.given == part.number else { return }
            state.given = 0
            state.done = done
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
        let write = replacing(state.withLock { $0.stored }, by: next)
        let result: Result
        do { result = try await host.write([write] + jobs, body) } catch is JobWriteRejection {
            // Another one has the name, or a commit has arrived whose outcome nobody knew, or a backup was put back.
            if try await rewind() {
                throw JobError(
                    .batchOver,
                    "the database of the consumer '\(name)' has another history since: take the next batch, which begins "
                        + "anew")
            }
            throw JobError(
                .batchOver,
                "an earlier commit of the consumer '\(name)' was stored after all, so this batch was committed before: "
                    + "take the next one")
        } catch {
            let meaning = host.meaning(ofAny: error)
            if meaning.isOfDatabase { state.withLock { $0.obstacle = meaning } }
            throw error
        }
        noteStored(next)
        return result
    }

    private func noteStored(_ next: ConsumerState) {
        state.withLock { state in
            state.stored = next
            state.lostPlace = nil
            state.placedAt = next.committedAt
        }
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

    /// Forgets the name, which another one has taken, so that ``open()`` takes it anew.
    ///
    /// - Returns: false if the name was removed, and nobody has it.
    func letGo() async throws -> Bool {
        state.withLock { state in
            state.isOpen = false
            state.given = 0
            state.lostPlace = nil
        }
        return try await host.record(key) != nil
    }

    /// Whether a part can be committed still.
    func isGiven(_ part: ChunkPart) -> Bool { state.withLock { $0.given == part.number } }
}
