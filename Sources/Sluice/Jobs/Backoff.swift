package import SluiceWire

/// How long a job waits before it tries again what has failed.
public struct Backoff: Sendable, Hashable {
    fileprivate let first: Duration
    fileprivate let longest: Duration

    /// Waits twice as long after each failure, with up to a fifth more or less at random, so that jobs which failed
    /// together do not come together.
    ///
    /// - Parameters:
    ///   - first: the wait after the first failure.
    ///   - longest: the longest wait.
    public static func exponential(_ first: Duration, max longest: Duration) -> Backoff {
        Backoff(first: first, longest: longest)
    }

    /// The wait after a number of failures, at least 1.
    ///
    /// - Parameter chance: a number from 0 to 1 at random.
    package func wait(afterFailures count: Int, chance: Double) -> Duration {
        let doubled = first * Double(1 << min(max(count, 1) - 1, 30))
        return min(doubled, longest) * (0.8 + 0.4 * chance)
    }
}

/// How often something was tried, and how much of it is tried next.
///
/// A batch that has failed often enough is searched for the object at fault: its halves are tried once each and at once,
/// and an object that is alone is tried a second time before it is given up. Where other objects of the batch succeeded,
/// the object is at fault, and the second try comes after the shortest wait. Where nothing succeeded, everything may fail:
/// then the wait is as long as if the batch had failed once more, and longer for each object that was given up before.
package struct Retries {
    private let limitMax: Int
    private let attempts: Int
    private let backoff: Backoff
    /// How many objects are tried next, at most.
    package private(set) var limit: Int
    private var failureCount = 0
    /// How often in a row what was tried was put off.
    private var putOffCount = 0
    /// How many of the next objects have the one at fault among them; 0 if nothing is searched.
    private var suspectCount = 0
    /// Whether anything has succeeded since the search began.
    private var hasSucceeded = false
    /// How many objects were given up since anything succeeded.
    private var givenUpCount = 0

    /// - Parameters:
    ///   - limit: the number of objects that are tried together as long as nothing fails.
    ///   - attempts: how often they are tried together.
    ///   - trial: what an earlier holder of the name has found out.
    package init(_ limit: Int, attempts: Int, _ backoff: Backoff, _ trial: ConsumerTrial?) {
        limitMax = max(1, limit)
        self.limit = min(limitMax, max(1, Int(clamping: trial?.limit ?? .max)))
        self.attempts = max(1, attempts)
        self.backoff = backoff
        failureCount = min(Int(clamping: trial?.failureCount ?? 0), self.attempts - 1)
    }

    /// What the next holder of the name needs to know; nil for nothing.
    package var trial: ConsumerTrial? {
        guard limit < limitMax || failureCount > 0 else { return nil }
        return ConsumerTrial(limit: UInt64(limit), failureCount: UInt64(failureCount))
    }

    /// - Parameter count: how many objects have succeeded together.
    package mutating func noteSuccess(of count: Int) {
        (failureCount, putOffCount, givenUpCount) = (0, 0, 0)
        hasSucceeded = true
        suspectCount = max(0, suspectCount - count)
        limit = suspectCount > 0 ? max(1, suspectCount / 2) : limit > limitMax / 2 ? limitMax : limit * 2
    }

    /// Notes that an object was given up.
    package mutating func noteGivenUp() {
        (failureCount, putOffCount, suspectCount) = (0, 0, 0)
        givenUpCount += 1
        hasSucceeded = false
    }

    /// What ``trial`` is after something else was noted.
    package func trial(after note: (inout Retries) -> Void) -> ConsumerTrial? {
        var next = self
        note(&next)
        return next.trial
    }

    /// - Returns: how long to wait before what was put off is tried again, which counts as no attempt.
    package mutating func notePutOff() -> Duration {
        putOffCount += 1
        return wait(afterFailures: putOffCount)
    }

    /// - Parameter count: how many objects failed together.
    /// - Returns: how long to wait before the next attempt; nil if one object has failed alone often enough.
    package mutating func noteFailure(of count: Int) -> Duration? {
        let isSearching = suspectCount > 0 || limit < limitMax
        if !isSearching {
            failureCount += 1
            if failureCount < attempts { return wait(afterFailures: failureCount + standingFailureCount) }
            guard count > 1 else {
                failureCount = 0
                return nil
            }
        }
        if suspectCount == 0 { hasSucceeded = false }
        suspectCount = max(1, count)
        guard count <= 1 else {
            (failureCount, limit) = (0, count / 2)
            return .zero
        }
        failureCount += 1
        if failureCount >= min(2, attempts) {
            failureCount = 0
            return nil
        }
        return wait(afterFailures: hasSucceeded ? 1 : max(attempts, standingFailureCount))
    }

    /// For how many failures the wait stands where nothing has succeeded since an object was given up.
    private var standingFailureCount: Int { givenUpCount > 0 ? attempts + givenUpCount : 0 }

    private func wait(afterFailures count: Int) -> Duration {
        backoff.wait(afterFailures: count, chance: .random(in: 0...1))
    }
}

/// How long a job has waited for a database that cannot be used at the moment.
package struct Obstruction {
    private let backoff: Backoff
    private var count = 0

    /// - Parameter backoff: how long to wait, which is at least 10 milliseconds and at most half a minute.
    package init(_ backoff: Backoff) {
        self.backoff = Backoff(
            first: max(.milliseconds(10), backoff.first),
            longest: max(.milliseconds(10), min(.seconds(30), backoff.longest)))
    }

    /// Notes that the database could be used again.
    package mutating func noteEnd() { count = 0 }

    /// Waits for the next attempt, if an error says that one makes sense.
    ///
    /// - Returns: false, at once, if the error has another meaning.
    package mutating func outlast(_ error: any Error, on host: any JobHost) async -> Bool {
        guard host.meaning(ofAny: error).isOfDatabase else { return false }
        await wait(because: error, on: host)
        return true
    }

    /// Waits for the next attempt.
    mutating func wait(because error: any Error, on host: any JobHost) async {
        count += 1
        if count == 1 {
            host.note(
                .warning, "a job waits, since its database cannot be used at the moment", [("error", "\(error)")])
        }
        let wait = backoff.wait(afterFailures: count, chance: .random(in: 0...1))
        await host.sleep(until: host.time.advanced(by: wait))
    }
}
