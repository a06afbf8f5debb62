internal import SluiceModel
internal import SluiceQuery
internal import SluiceWire
internal import Synchronization

/// Claims rows of a queue for the workers of one run, extends their leases, and ends the claims of those that are done.
///
/// Every change of a claim says what the claim must be, and a new one which version the row must have. So of two that
/// claim a row one has it, and a worker whose lease has ended writes nothing.
final class ClaimDesk: Sendable {
    /// What is known of a row besides that it matches.
    struct Judgement: Sendable {
        var partition: String?
        var notBefore: Timestamp?
    }

    /// Says what is known of a row.
    typealias Judge = @Sendable (Row, Int, Schema) throws -> Judgement

    /// A row whose worker's process has ended each time that it was tried.
    private struct Fatal: Error, CustomStringConvertible {
        let description = "its worker ended while it ran, each time or the last one"
    }

    private struct State {
        var held: [JobRecord.Key: ClaimedRow] = [:]
        /// When a row that is not due yet will be, by the host's clock; nil if none waits.
        var next: Timestamp?
        /// Which rows nobody could claim yet when they were looked at last.
        var waiting = WaitingTries()
        /// Whether the database has the query.
        var isQueryKept = false
        /// Whether there may be claims of rows that nobody claims any more: of an earlier run, or since one has ended and
        /// no row was free then.
        var mayHaveLeftovers = true
        /// Which of the rows that are due are claimed next.
        var turns = ClaimTurns()
        /// When it is looked what is kept of dead rows that are gone; nil for the next time that no row is free.
        var lettersDue: Timestamp?

        /// - Returns: false if the row is not held, or by a later claim: the lease of this one has ended, another desk has
        ///   had the row, and this one has claimed it again.
        mutating func letGo(_ claimed: ClaimedRow) -> Bool {
            guard held[claimed.key]?.claim == claimed.claim else { return false }
            held[claimed.key] = nil
            return true
        }
    }

    private let host: any JobHost
    private let name: String
    private let lease: Duration
    private let attempts: Int
    /// Whether a row that is put off is not tried again: the run is to end.
    private let isOnce: Bool
    private let endings: ClaimEndings
    private let query: JobQuery
    private let arrivals: Arrivals
    private let state = Mutex(State())
    /// How many rows are looked at first, to find some that are free, and how many at a time afterwards, at most.
    private static let rowCountMin = 64
    private static let rowCountMax = 2_000
    /// About how many rows are claimed at a time, at most, however many workers there are.
    static let claimCountMax = 100_000
    /// How often one claim begins again with the first row, because that to go on behind was deleted or changed.
    private static let returnCountMax = 8
    /// How often it is looked, at most, what is kept of dead rows that are gone.
    private static let letterInterval = Duration.seconds(600)

    init(
        _ host: any JobHost, _ name: String, lease: Duration, attempts: Int, _ backoff: Backoff, isOnce: Bool,
        _ query: @escaping JobQuery, onGivenUp: @escaping @Sendable (DeadLetter) -> Void
    ) {
        self.host = host
        self.name = name
        self.lease = max(lease, .milliseconds(10))
        self.attempts = max(1, attempts)
        self.isOnce = isOnce
        endings = ClaimEndings(host, name, attempts: self.attempts, backoff, onGivenUp: onGivenUp)
        self.query = query
        arrivals = Arrivals(host)
    }

    // MARK: Claiming

    /// Claims rows that are due, in the order of ``ClaimTurns``.
    ///
    /// - Parameters:
    ///   - count: at most how many.
    ///   - againCount: at most how many of those that were claimed before: they are worked at alone.
    func claim(_ count: Int, again againCount: Int, _ judge: Judge?) async throws -> [ClaimedRow] {
        guard count > 0, !isHoldingOneAlone else { return [] }
        // What could not be told before, and may make rows due. What cannot be told now is tried again with the leases.
        try? await endings.store()
        try await keepQuery()
        let prefersNew = state.withLock { $0.turns.prefersNew }
        var (last, size) = (Row?.none, max(Self.rowCountMin, 2 * count))
        var (earliest, waiting) = (Timestamp?.none, WaitingTries())
        var (returnCount, rowCount) = (0, 0)
        // The rows that were claimed before and are taken if there are no new ones.
        var again = ClaimChoice(count, again: againCount)
        while true {
            let found = try await host.rows(
                after: last?.key, countMax: size, ofQueue: name, query, withPartitions: judge != nil)
            rowCount += found.rows.count
            let isAnew = last != nil && found.precedingVersion == nil
            if isAnew { (waiting, again) = (WaitingTries(), ClaimChoice(count, again: againCount)) }
            var finding = ClaimFinding(
                ClaimChoice(count, again: againCount), againLater: prefersNew ? again : nil)
            try search(found, judge, &finding)
            again = finding.againLater ?? again
            let due = finding.next.map { host.time.advanced(by: found.now.distance(to: $0)) }
            earliest = [earliest, due].compactMap(\.self).min()
            waiting.add(finding.waiting)
            state.withLock { [earliest, waiting] in ($0.next, $0.waiting) = (earliest, waiting) }
            for row in finding.fatal {
                try await endings.giveUp(row.claimed, row.former, row.error)
                endings.forget(row.claimed.key)
            }
            let candidates = finding.free.candidates
            let claimed = try await claim(candidates, at: found.now)
            if !claimed.isEmpty {
                state.withLock { $0.turns.noteClaim() }
                return claimed
            }
            var isOver = found.isLast
            if let row = last {
                let isChanged = !isAnew && found.precedingVersion != 0 && found.precedingVersion != row.version
                if isAnew || isChanged { returnCount += 1 }
                // What was committed has the rows looked at once more. Those that vanish as fast as they are looked at are
                // in the hands of others.
                let isVain = returnCount > Self.returnCountMax
                if isChanged, !isVain {
                    // It may have moved over rows that were not looked at.
                    (last, waiting, again) = (nil, WaitingTries(), ClaimChoice(count, again: againCount))
                    continue
                }
                isOver = isOver || isVain
            }
            if isOver {
                let claimed = try await claim(again.candidates, at: found.now)
                if !claimed.isEmpty {
                    state.withLock { [rowCount] in $0.turns.noteNoNew(among: rowCount) }
                    return claimed
                }
                guard found.isLast else { return [] }
                // What fails is tried again when no row is free for the next time.
                try? await removeLeftovers(at: found.now)
                try? await removeGoneLetters()
                return []
            }
            // Behind rows that others hold, or that are dead, there may be free ones; or others were quicker.
            guard candidates.isEmpty, let row = found.rows.last else { continue }
            last = row.row
            size = max(size, min(4 * size, Self.rowCountMax))
        }
    }

    /// Whether a row is held that is worked at alone: until that ends no other is claimed, and there is no work to wait for.
    var isHoldingOneAlone: Bool { state.withLock { $0.held.values.contains(where: \.isAlone) } }

    /// Removes the claims that have ended and whose rows are no results any more, unless it was done since one has ended.
    ///
    /// - Parameter now: the server's clock.
    private func removeLeftovers(at now: Timestamp) async throws {
        let held: Set<JobRecord.Key>? = state.withLock { state in
            guard state.mayHaveLeftovers else { return nil }
            return Set(state.held.values.flatMap { [$0.key] + ($0.partition.map { [$0.key] } ?? []) })
        }
        guard let held else { return }
        let text = try await host.text(of: query)
        _ = try await host.applyAll(QueueLeftovers(host, ofQueue: name).endedClaims(at: now, except: held, text))
        state.withLock { $0.mayHaveLeftovers = false }
    }

    /// Removes what is kept of dead rows that are gone, once in a while.
    private func removeGoneLetters() async throws {
        let now = host.time
        let isDue = state.withLock { state in
            if let due = state.lettersDue, now < due { return false }
            state.lettersDue = now.advanced(by: Self.letterInterval)
            return true
        }
        guard isDue else { return }
        _ = try await host.applyAll(QueueLeftovers(host, ofQueue: name).goneLetters(host.text(of: query)))
    }

    /// Stores the query, by which others count what waits.
    private func keepQuery() async throws {
        guard !state.withLock({ $0.isQueryKept }) else { return }
        let (key, text) = (QueueClaim.queryKey(name), Array(try await host.text(of: query).utf8))
        if try await host.record(key)?.value != text {
            _ = try await host.apply([JobWrite(key, .set(.never, value: text))])
        }
        state.withLock { $0.isQueryKept = true }
    }

    /// Which rows are free, and when the next one will be.
    private func search(_ found: QueueRows, _ judge: Judge?, _ finding: inout ClaimFinding) throws {
        finding.note(next: found.nextDue)
        let busy = Set(found.busyPartitions)
        let isIdle = state.withLock { $0.held.isEmpty }
        for row in found.rows where !finding.isFull {
            let className = found.schema[found.classIndex].name
            if let claim = row.claim, let due = claim.due, due > found.now {
                if try claim.decoded(as: QueueClaim.self).isNobodys {
                    finding.waiting.add(due)
                } else {
                    finding.waiting.add(heldUntil: due)
                }
                continue
            }
            if let dead = row.dead, try dead.decoded(as: DeadLetterRecord.self).version == row.row.version { continue }
            // One that cannot be read as its type fails when it is worked at.
            let judgement = (try? judge?(row.row, found.classIndex, found.schema)) ?? Judgement()
            if let notBefore = judgement.notBefore, notBefore > found.now {
                finding.note(next: notBefore)
                continue
            }
            if let partition = judgement.partition, busy.contains(partition) { continue }
            let key = DeadLetterRecord.key(
                Identity(className: className, key: row.row.key), in: QueueClaim.space(name))
            if isOnce, endings.wasPutOff(key) {
                finding.waiting.add(row.claim?.due ?? found.now)
                continue
            }
            let former = try row.claim?.decoded(as: QueueClaim.self)
            let (mine, ending) = (state.withLock { $0.held[key]?.claim }, former.flatMap { endings[$0.holder] })
            // Its worker goes on in this process, and its lease could not be extended.
            if let former, former == mine { continue }
            let before = (ending?.claim ?? former)?.attemptCount ?? 0
            // Whoever had it did not let go of it.
            let isAbandoned = former.map { $0.holder != 0 } ?? false && ending == nil
            let isAlone = isAbandoned && before + 1 >= UInt64(attempts)
            // Another one for each claim, so that none is taken for a later one of the same row.
            let holder = UInt64.random(in: 1 ... .max)
            let claim = QueueClaim(holder: holder, attemptCount: before + 1, partition: judgement.partition)
            let claimed = ClaimedRow(
                row: row.row, classIndex: found.classIndex, schema: found.schema, epochs: found.epochs, key: key,
                claim: claim, isAlone: isAlone,
                partition: judgement.partition.map { PartitionHold(name, $0, by: holder) })
            if let record = row.claim, let error = ending?.error ?? (isAbandoned ? Fatal() : nil),
                before >= UInt64(attempts)
            {
                finding.fatal.append((claimed, record, error))
                continue
            }
            // When the others are done.
            if isAlone, !isIdle { continue }
            finding.add(ClaimCandidate(claimed: claimed, former: row.claim, letter: row.dead))
        }
    }

    /// - Parameter now: the server's clock when the rows were read.
    private func claim(_ candidates: [ClaimCandidate], at now: Timestamp) async throws -> [ClaimedRow] {
        let candidates = try await takingPartitions(of: candidates, at: now)
        guard !candidates.isEmpty else { return [] }
        let until = JobWrite.Due.after(lease)
        let writes = candidates.map { candidate in
            let claimed = candidate.claimed
            return JobWrite(
                claimed.key, .set(until, value: claimed.claim.wireBytes()),
                if: candidate.former.map { .value($0.value) } ?? .absent,
                .unchanged(claimed.identity, version: claimed.row.version))
        }
        let answers: [Bool]
        do { answers = try await host.applyAll(writes) } catch {
            // The database may have the claims, or some of them.
            endings.note(unused: candidates.map(\.claimed), because: error)
            throw error
        }
        let made = zip(candidates, answers).filter { $0.1 }.map(\.0)
        state.withLock { state in for candidate in made { state.held[candidate.claimed.key] = candidate.claimed } }
        for candidate in made { endings.forget(candidate.claimed.key) }
        let releases = zip(candidates, answers).filter { !$0.1 }.flatMap(\.0.claimed.releases)
        // One that is worked at again is not dead any more.
        let removals = made.compactMap(\.letter).map { JobWrite($0.key, .remove, if: .value($0.value)) }
        await endings.tidy(releases + removals)
        return made.map(\.claimed)
    }

    /// The candidates whose partitions nobody else holds, which are held from now on. Others may have claimed a row of one
    /// since it was looked at.
    private func takingPartitions(
        of candidates: [ClaimCandidate], at now: Timestamp
    ) async throws -> [ClaimCandidate] {
        let holds = candidates.compactMap(\.claimed.partition)
        guard !holds.isEmpty else { return candidates }
        let taken: Set<JobRecord.Key>
        do { taken = try await host.take(holds, for: lease, at: now) } catch {
            await endings.tidy(holds.map(\.release))
            throw error
        }
        return candidates.filter { $0.claimed.partition.map { taken.contains($0.key) } ?? true }
    }

    /// The rows that nobody could claim yet when no row was free.
    var waiting: WaitingTries { state.withLock { $0.waiting } }

    /// When a row may be due by the clock, as far as rows were looked at; nil if none will be.
    var nextDue: Timestamp? { state.withLock { $0.next } }

    /// Waits until something was committed, or the task is cancelled.
    func waitForArrival() async { await arrivals.next() }

    /// Waits until a row may be due by the clock, or the task is cancelled.
    func wait(until time: Timestamp) async {
        await host.sleep(until: time)
        if time <= host.time { state.withLock { $0.mayHaveLeftovers = true } }
    }

    // MARK: Holding

    /// Extends the leases of what is held until the task is cancelled.
    func keepLeases() async {
        while !Task.isCancelled {
            await host.sleep(until: host.time.advanced(by: lease / 3))
            if Task.isCancelled { return }
            do { try await extendLeases() } catch {
                host.note(
                    .warning, "leases of a queue could not be extended", [("queue", name), ("error", "\(error)")])
            }
        }
    }

    private func extendLeases() async throws {
        let held = state.withLock { Array($0.held.values) }
        _ = try await host.applyAll(held.flatMap { $0.extensions(by: lease) })
        try await endings.store()
    }

    // MARK: Ending

    /// Writes what follows from rows, and ends their claims.
    ///
    /// - Throws: what `completion` throws; ``JobError/Code/leaseLost`` if another worker may have one of the rows;
    ///   ``JobError/Code/notCommitted`` if one still matches.
    func complete(
        _ rows: [ClaimedRow], _ completion: @escaping @Sendable (borrowing WriteTransaction) throws -> Void
    ) async throws {
        guard let first = rows.first else { return }
        let text = try query(first.schema).canonicalText
        let ends = rows.flatMap { row in
            [JobWrite(row.key, .remove, if: .value(row.claim.wireBytes()), .unmatched(row.identity, query: text))]
                + row.releases
        }
        do { try await host.write(ends) { try completion($0) } } catch let refusal as JobWriteRejection {
            let className = first.identity.className
            switch refusal {
            case .moved:
                throw JobError(
                    .leaseLost,
                    "the lease of \(className) in the queue '\(name)' has ended, and another worker may have the row: "
                        + "nothing was written")
            case .unfinished:
                throw JobError(
                    .notCommitted,
                    "a worker of the queue '\(name)' has finished a row of \(className) that still matches: what it "
                        + "returns must change the row so that the query no longer finds it, or delete it")
            }
        } catch  where host.meaning(ofAny: error).isOfDatabase {
            throw ClaimEndings.Unwritten(cause: error)
        }
        state.withLock { state in for row in rows { _ = state.letGo(row) } }
        endings.forgetPutOffs(of: rows)
    }

    /// Lets go of a row that has failed, until it is tried again; or for good.
    ///
    /// - Parameter isAlone: whether it was worked at without others: only then it is given up.
    func fail(_ claimed: ClaimedRow, _ error: any Error, isAlone: Bool) async {
        // Noted first, so that nobody finds a claim whose lease has ended and that nobody has.
        let ending = endings.note(claimed, because: error, isAlone: isAlone)
        guard state.withLock({ $0.letGo(claimed) }) else { return endings.drop(ending) }
        await endings.tell(ending)
    }

    /// Ends what is left when no row is claimed any more.
    func close() async { await endings.close() }
}
