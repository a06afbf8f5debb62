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
        let standing = Mutex(LoginStanding.unchanged)

        func decide(_ credentials: [Credentials]) -> Result<LoginOutcome, LoginError>? { nil }

        func identify(_ credentials: [Credentials], of peer: LoginPeer, completion: @escaping Completion) {
            waiting.withLock { $0.append(completion) }
        }

        func standing(of user: User) -> LoginStanding { standing.withLock { $0 } }

        func answer() {
            let waiting = waiting.withLock { $0 }
            for completion in waiting { completion(.success(LoginOutcome(User(id: "ada", mayExtendSchema: false)))) }
        }
    }

    private let login = SlowLogin()
    private let events = Recorder()

    private final class Recorder: Sendable {
        let lines = Mutex<[String]>([])
        func note(_ line: String) { lines.withLock { $0.append(line) } }
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

    @Test func proofsEndAtTheTimeOfTheClock() {
        checks().expire()
        #expect(events.lines.withLock { $0 } == ["expire at 7"])
    }
}
