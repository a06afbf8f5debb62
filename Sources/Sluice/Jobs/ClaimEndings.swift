internal import SluiceModel
internal import SluiceWire
internal import Synchronization

/// Ends the claims of rows that are not done, and keeps what the database does not know of yet: without that the end of a
/// lease would count as the end of a process.
///
/// Everything that it has the database do has no effect once somebody else has the row.
final class ClaimEndings: Sendable {
    /// How a claim ends.
    struct Ending: Sendable {
        let claimed: ClaimedRow
        /// The claim that is left: nobody's, with the attempts that count.
        let claim: QueueClaim
        /// How long the row is not tried.
        let wait: Duration
        /// Whether the row is as if nobody had claimed it: whoever has did not work at it to an end, and nobody had before.
        let isUndone: Bool
        /// Why the row is given up; nil if it is tried again.
        let error: (any Error)?
    }

    /// What a row has led to could not be written, or nobody knows whether it was: the row is not to blame.
    struct Unwritten: Error, CustomStringConvertible {
        let cause: any Error
        var description: String { "\(cause)" }
    }

    private struct State {
        /// Those of which the database does not know yet, by the numbers of the claims.
        var endings: [UInt64: Ending] = [:]
        /// Those of which it is being told, each by who noted it.
        var told: Set<UInt64> = []
        /// What else it does not know yet.
        var rest: [JobWrite] = []
        /// How often rows were put off by those who worked at them, which counts no attempts.
        var putOffs: [JobRecord.Key: Int] = [:]
        /// Until when one whose task is cancelled waits for the database, by the host's clock; nil before that.
        var end: Timestamp?

        var isEmpty: Bool { endings.isEmpty && rest.isEmpty }
    }

    private let host: any JobHost
    private let name: String
    private let attempts: Int
    private let backoff: Backoff
    private let onGivenUp: @Sendable (DeadLetter) -> Void
    private let state = Mutex(State())
    /// Of how many rows it is known how often they were put off.
    private static let putOffCountMax = 100_000

    /// - Parameter onGivenUp: told of each row that is given up, once the database has it.
    init(
        _ host: any JobHost, _ name: String, attempts: Int, _ backoff: Backoff,
        onGivenUp: @escaping @Sendable (DeadLetter) -> Void
    ) {
        self.host = host
        self.name = name
        self.attempts = attempts
        self.backoff = backoff
        self.onGivenUp = onGivenUp
    }

    // MARK: What is not known

    /// The end of a claim of which the database does not know yet; nil if there is none.
    subscript(holder: UInt64) -> Ending? { state.withLock { $0.endings[holder] } }

    /// Notes the ends of claims that the database may have, and at whose rows nobody has worked.
    func note(unused rows: [ClaimedRow], because error: any Error) {
        let endings = rows.map { ending(of: $0, because: error, isCancelled: true) }
        state.withLock { state in for ending in endings { state.endings[ending.claimed.claim.holder] = ending } }
    }

    /// Whether whoever worked at a row of this run has put it off.
    func wasPutOff(_ key: JobRecord.Key) -> Bool { state.withLock { $0.putOffs[key] != nil } }

    /// Forgets that rows were put off, since they are done.
    func forgetPutOffs(of rows: [ClaimedRow]) {
        state.withLock { state in
            guard !state.putOffs.isEmpty else { return }
            for row in rows { state.putOffs[row.key] = nil }
        }
    }

    /// Notes that a row is put off.
    ///
    /// - Returns: how often it was.
    private func notePutOff(_ key: JobRecord.Key) -> Int {
        state.withLock { state in
            if state.putOffs.count >= Self.putOffCountMax { state.putOffs = [:] }
            state.putOffs[key, default: 0] += 1
            return state.putOffs[key] ?? 1
        }
    }

    /// Forgets the claims of a row that have ended, since it is claimed anew or given up.
    func forget(_ key: JobRecord.Key) {
        state.withLock { state in
            guard !state.endings.isEmpty else { return }
            state.endings = state.endings.filter { $0.value.claimed.key != key }
        }
    }

    /// Tells the database what it does not know yet.
    ///
    /// - Throws: why it does not know all of it; that is kept.
    func store() async throws {
        let (endings, rest) = state.withLock { state in
            defer { state.rest = [] }
            return (state.endings.filter { !state.told.contains($0.key) }.map(\.value), state.rest)
        }
        var problem: (any Error)?
        for ending in endings { do { try await store(ending) } catch { problem = problem ?? error } }
        do { _ = try await host.applyAll(rest) } catch {
            state.withLock { $0.rest += rest }
            problem = problem ?? error
        }
        if let problem { throw problem }
    }

    /// Has the database make changes on which nothing depends now.
    func tidy(_ writes: [JobWrite]) async {
        guard !writes.isEmpty else { return }
        do { _ = try await host.applyAll(writes) } catch { state.withLock { $0.rest += writes } }
    }

    // MARK: Ending

    /// Notes how the claim of a row ends that has failed: until it is tried again, or for good.
    ///
    /// - Parameter isAlone: whether it was worked at without others. No other row is given up, whichever has failed.
    func note(_ claimed: ClaimedRow, because error: any Error, isAlone: Bool) -> Ending {
        let ending = ending(of: claimed, because: error, isCancelled: Task.isCancelled, isAlone: isAlone)
        state.withLock { $0.endings[claimed.claim.holder] = ending }
        return ending
    }

    /// Forgets an end, since somebody else has the row.
    func drop(_ ending: Ending) { state.withLock { $0.endings[ending.claimed.claim.holder] = nil } }

    /// Tells the database of an end that was noted.
    func tell(_ ending: Ending) async {
        let holder = ending.claimed.claim.holder
        state.withLock { _ = $0.told.insert(holder) }
        await patiently("a row of a queue could not be let go, and is due when its lease ends") {
            try await self.store(ending)
        }
        state.withLock { _ = $0.told.remove(holder) }
    }

    /// Tells the database what it does not know yet, when nobody will do it later.
    func close() async {
        guard state.withLock({ !$0.isEmpty }) else { return }
        await patiently("claims of a queue could not be ended, and end with their leases") { try await self.store() }
    }

    /// - Parameter message: what is said if it fails.
    private func patiently(_ message: String, _ body: @escaping @Sendable () async throws -> Void) async {
        await host.finish(by: { self.end }) { [host, name] in
            do { try await body() } catch {
                host.note(.warning, message, [("queue", name), ("error", "\(error)")])
            }
        }
    }

    /// Until when one whose task is cancelled waits: all waits have one end. What the database does not know then ends with
    /// the leases.
    private var end: Timestamp {
        let end = host.time.advanced(by: JobPatience.atEnd)
        return state.withLock { state in
            state.end = state.end ?? end
            return state.end ?? end
        }
    }

    private func ending(
        of claimed: ClaimedRow, because error: any Error, isCancelled: Bool, isAlone: Bool = true
    ) -> Ending {
        var claim = claimed.claim
        claim.holder = 0
        let isPutOffByBody = (error as? JobError)?.code == .tryAgain
        let isPutOff = isPutOffByBody || error is Unwritten
        if isCancelled || isPutOff { claim.attemptCount -= 1 }
        let isGivenUp = claim.attemptCount >= attempts && !isPutOff && !isCancelled && isAlone
        let count = isPutOffByBody && !isCancelled ? max(notePutOff(claimed.key), claimed.attempt) : claimed.attempt
        let wait = isCancelled ? .zero : backoff.wait(afterFailures: count, chance: .random(in: 0...1))
        return Ending(
            claimed: claimed, claim: claim, wait: wait, isUndone: isCancelled && claim.attemptCount == 0,
            error: isGivenUp ? error : nil)
    }

    /// Has the database end a claim.
    private func store(_ ending: Ending) async throws {
        let claimed = ending.claimed
        let held = JobRecord(claimed.key, value: claimed.claim.wireBytes())
        if let error = ending.error {
            try await giveUp(claimed, held, error)
            if !claimed.releases.isEmpty { _ = try await host.apply(claimed.releases) }
        } else {
            let change: JobWrite.Change =
                ending.isUndone ? .remove : .set(.after(ending.wait), value: ending.claim.wireBytes())
            _ = try await host.apply([JobWrite(claimed.key, change, if: .value(held.value))] + claimed.releases)
        }
        state.withLock { $0.endings[claimed.claim.holder] = nil }
    }

    /// Keeps a row among the dead ones, unless somebody else has it by now.
    ///
    /// - Parameter held: the claim that ends.
    func giveUp(_ claimed: ClaimedRow, _ held: JobRecord, _ error: any Error) async throws {
        let attempt = try held.decoded(as: QueueClaim.self).attemptCount
        let letter = DeadLetterRecord(
            error, attemptCount: Int(clamping: attempt), time: host.time, version: claimed.row.version)
        let name = claimed.key.name
        let dead = JobRecord(
            JobRecord.Key(space: QueueClaim.deadSpace(self.name), name: name), value: letter.wireBytes())
        let writes = [
            JobWrite(claimed.key, .remove, if: .value(held.value)),
            JobWrite(dead.key, .set(.never, value: dead.value)),
            // It may be dead for the second time.
            JobWrite(JobRecord.Key(space: QueueClaim.discardedSpace(self.name), name: name), .remove),
        ]
        do { try await host.write(writes) { _ in } } catch is JobWriteRejection { return }
        host.note(
            .error, "a queue has given up a row",
            [("queue", self.name), ("class", claimed.identity.className), ("error", "\(error)")])
        onGivenUp(try DeadLetter(dead))
    }
}
