import SluiceAccess
import SluiceModel
import SluiceWire
import Synchronization
import Testing

@testable import SluiceServer

/// What becomes of logins that are being checked, and of those that have succeeded.
@Suite struct LoginChecksTests {
    /// Answers when it is told to.
    private final class SlowLogin: Login {
        typealias Completion = @Sendable (Result<LoginOutcome, LoginError>) -> Void

        let waiting = Mutex<[Completion]>([])
        /// Nil while nobody knows.
        let standing = Mutex<LoginStanding?>(.unchanged)

        func decide(_ credentials: [WireCredentials]) -> Result<LoginOutcome, LoginError>? { nil }

        func identify(_ credentials: [WireCredentials], of peer: LoginPeer, completion: @escaping Completion) {
            waiting.withLock { $0.append(completion) }
        }

        func standings(of users: [User]) throws -> [LoginStanding] {
            guard let standing = standing.withLock({ $0 }) else { throw CancellationError() }
            return users.map { _ in standing }
        }

        func answer() {
            let waiting = waiting.withLock { $0 }
            for completion in waiting { completion(.success(LoginOutcome(User(id: "ada", mayExtendSchema: false)))) }
        }
    }

    private let login = SlowLogin()
    private let events = Recorder()

    private final class Recorder: Sendable {
        let lines = Mutex<[String]>([])
        private let waiting = Mutex<[(line: String, continuation: CheckedContinuation<Void, Never>)]>([])

        func note(_ line: String) {
            lines.withLock { $0.append(line) }
            let heard = waiting.withLock { waiting in
                defer { waiting.removeAll { $0.line == line } }
                return waiting.filter { $0.line == line }
            }
            for entry in heard { entry.continuation.resume() }
        }

        /// Waits for the next such line, unless there is one.
        func wait(for line: String) async {
            await withCheckedContinuation { continuation in
                let isThere = lines.withLock { lines in
                    if lines.contains(line) { return true }
                    waiting.withLock { $0.append((line, continuation)) }
                    return false
                }
                if isThere { continuation.resume() }
            }
        }
    }

    private func checks() -> LoginChecks {
        LoginChecks(
            login,
            of: .init(
                users: { [User(id: "ada", mayExtendSchema: false)] },
                adopt: { [events] in events.note("adopt \($0.count)") },
                expire: { [events] in events.note("expire at \($0.microseconds)") }),
            now: { Timestamp(microseconds: 7) }, log: nil, metrics: nil)
    }

    private func begin(_ checks: LoginChecks) {
        checks.check([], of: LoginPeer(address: "a"), at: "a") { [events] result, isCurrent in
            let isCurrent = isCurrent()
            switch result {
            case .success(let outcome): events.note("\(outcome.user.id ?? "nobody") \(isCurrent)")
            case .failure(let error): events.note(error.message)
            }
            return isCurrent
        }
    }

    @Test func anOutcomeIsHandedOverOnce() async {
        let checks = checks()
        begin(checks)
        login.answer()
        await checks.flush()
        #expect(events.lines.withLock { $0 } == ["ada true"])
    }

    @Test func aLoginThatWasCheckedBeforeAChangeIsLookedAtAgain() async {
        let checks = checks()
        begin(checks)
        checks.checkAll()
        login.answer()
        await checks.flush()
        #expect(events.lines.withLock { $0.sorted() } == ["ada false", "ada true", "adopt 1"])
    }

    @Test func aUserWhoWasRevokedMeanwhileIsRefused() async {
        let checks = checks()
        begin(checks)
        login.standing.withLock { $0 = .over }
        checks.checkAll()
        login.answer()
        await checks.flush()
        #expect(events.lines.withLock { $0.sorted() } == ["ada false", "adopt 1", LoginError.revoked])
    }

    @Test func whoseStandingCannotBeFoundOutIsToldToComeAgain() async {
        let checks = checks()
        begin(checks)
        login.standing.withLock { $0 = nil }
        checks.checkAll()
        login.answer()
        await checks.flush()
        #expect(events.lines.withLock { $0.sorted() } == ["ada false", LoginError.unavailable.message])
        #expect(LoginError.unavailable.retryAfter == 1_000)
        // Open sessions go on, and are looked at once it can be found out.
        login.standing.withLock { $0 = .over }
        await events.wait(for: "adopt 1")
    }

    @Test func proofsEndAtTheTimeOfTheClock() {
        checks().expire()
        #expect(events.lines.withLock { $0 } == ["expire at 7"])
    }
}
