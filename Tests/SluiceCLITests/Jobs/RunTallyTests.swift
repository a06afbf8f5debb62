import SluiceModel
import SluiceWire
import Synchronization
import Testing

@testable import Sluice
@testable import SluiceCLI

/// What `sluice run` says in the end, and with which exit code.
struct RunTallyTests {
    private let time = Timestamp(microseconds: 1_700_000_000_000_000)

    private func waiting(_ count: Int) -> WaitingTries {
        var waiting = WaitingTries()
        for number in 0..<count { waiting.add(Timestamp(microseconds: time.microseconds + Int64(number))) }
        return waiting
    }

    private let one = BatchLabel(id: "b1", of: [Identity(className: "Mail", key: .int(5))])

    /// Keeps what is said.
    private final class Said: Sendable {
        private let lines = Mutex<[String]>([])

        @Sendable func report(_ line: String) { lines.withLock { $0.append(line) } }

        var all: [String] { lines.withLock { $0 } }
    }

    @Test func `a run has done all where no row waits`() {
        let said = Said()
        let tally = RunTally("running mail", report: said.report)
        tally.note(1, of: nil)
        tally.note(waiting: waiting(0))
        #expect(tally.problem("sluice queues") == nil)
        tally.finish()
        #expect(said.all == ["1 object is done"])
    }

    @Test(arguments: [
        (1, "1 row that failed or was put off is left for another try, the first at"),
        (2, "2 rows that failed or were put off are left for another try, the first at"),
    ])
    func `rows that were put off and are left are counted, and have an exit code of their own`(
        count: Int, text: String
    ) throws {
        let tally = RunTally("running mail") { _ in }
        tally.note(JobError.tryAgain("not now"), of: one, count: count)
        tally.note(waiting: waiting(count))
        let problem = try #require(tally.problem("sluice queues"))
        #expect(problem.kind == .tryAgain && problem.kind.rawValue == 75)
        #expect(problem.message == "\(text) \(time)")
    }

    @Test func `rows that another run holds are left`() throws {
        var left = waiting(0)
        left.add(heldUntil: Timestamp(microseconds: time.microseconds + 1))
        left.add(heldUntil: time)
        let tally = RunTally("running mail") { _ in }
        tally.note(waiting: left)
        let problem = try #require(tally.problem("sluice queues"))
        #expect(problem.kind == .tryAgain)
        #expect(problem.message.hasPrefix("2 rows are held by another run"))
        #expect(problem.message.contains("the first until \(time)"))
    }

    @Test func `attempts that have failed count more, and what was given up is named`() throws {
        let said = Said()
        let tally = RunTally("running mail", report: said.report)
        tally.note(CommandError.failure("exit code 3"), of: one, count: 1)
        tally.note(waiting: waiting(4))
        let problem = try #require(tally.problem("sluice queues"))
        #expect(problem.kind == .unfinished)
        #expect(problem.message.hasPrefix("1 attempt at rows failed; 4 rows that"))
        // Nothing was given up that could be listed.
        #expect(!problem.message.contains("sluice queues"))
        #expect(said.all == ["Mail 5, batch b1: exit code 3"])

        let letter = DeadLetterRecord(
            CommandError.failure("exit code 3"), attemptCount: 1, time: time, version: 1)
        let key = DeadLetterRecord.key(Identity(className: "Mail", key: .int(5)), in: QueueClaim.deadSpace("mail"))
        tally.note(givenUp: try DeadLetter(JobRecord(key, value: letter.wireBytes())))
        #expect(said.all.last == "Mail 5 is given up after 1 attempt: exit code 3")
        let dead = try #require(tally.problem("sluice queues"))
        #expect(dead.message.contains("1 object was given up, and 'sluice queues' lists it"))
    }

    @Test func `a batch of several is named by what its program finds in its environment`() {
        let keys = (1...3).map { Identity(className: "Mail", key: .int($0)) }
        #expect(BatchLabel(id: "b2", of: keys).text == "batch b2 of 3 objects")
    }

    @Test func `failures without end are counted, and the last of them is said now and then`() {
        var account = FailureAccount()
        let start = ContinuousClock.now
        var said = (1...FailureAccount.fullCountMax).compactMap { account.note("failure \($0)", at: start) }
        #expect(said.count == FailureAccount.fullCountMax && said.first == "failure 1")
        #expect(said.last?.hasPrefix("failure 10\nfurther failures are counted") == true)
        // A failure each second for an hour.
        said = (1...3_600).compactMap { account.note("failure \($0)", at: start.advanced(by: .seconds($0))) }
        #expect(said.count == 120, "\(said.count)")
        #expect(said.first == "30 more attempts failed or were put off, the last of them: failure 30")
        #expect(account.takeRest() == nil)
        // One that comes alone is said as it is, and what is left comes in the end.
        #expect(account.note("alone", at: start.advanced(by: .seconds(7_200))) == "alone")
        #expect(account.note("last", at: start.advanced(by: .seconds(7_201))) == nil)
        #expect(account.takeRest() == "last" && account.takeRest() == nil)
    }

    @Test func `one that stands by says who has the name`() {
        let holder = NameHolder(heardOf: time, committedAt: nil)
        let text = ConsumerNameNews.standsBy(holder).text(of: "ledger")
        for part in ["'ledger'", "last heard of at \(time)", "nothing was committed yet", "stands by"] {
            #expect(text.contains(part), "\(text)")
        }
        #expect(ConsumerNameNews.taken.text(of: "ledger").contains("has the name 'ledger' now"))
        #expect(ConsumerNameNews.lost.text(of: "ledger").contains("another process has taken the name 'ledger'"))
    }
}
