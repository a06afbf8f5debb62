import Sluice
import SluiceModel
import Testing

@testable import SluiceCLI

/// What `sluice run` says in the end, and with which exit code.
struct RunTallyTests {
    private let time = Timestamp(microseconds: 1_700_000_000_000_000)

    private func waiting(_ count: Int) -> WaitingTries {
        var waiting = WaitingTries()
        for number in 0..<count { waiting.add(Timestamp(microseconds: time.microseconds + Int64(number))) }
        return waiting
    }

    @Test func `a run has done all where no row waits`() {
        let tally = RunTally("running mail")
        tally.note(3, of: nil)
        tally.note(waiting: waiting(0))
        #expect(tally.problem == nil)
    }

    @Test func `rows that were put off and are left are counted, and have an exit code of their own`() throws {
        let tally = RunTally("running mail")
        tally.note(JobError.tryAgain("not now"), of: "mail/1", count: 2)
        tally.note(waiting: waiting(2))
        let problem = try #require(tally.problem)
        #expect(problem.kind == .tryAgain && problem.kind.rawValue == 75)
        #expect(problem.message.hasPrefix("2 rows are left") && problem.message.contains("the first until \(time)"))
    }

    @Test func `attempts that have failed count more`() throws {
        let tally = RunTally("running mail")
        tally.note(CommandError.failure("exit code 3"), of: "mail/1", count: 1)
        tally.note(waiting: waiting(4))
        let problem = try #require(tally.problem)
        #expect(problem.kind == .unfinished)
        #expect(problem.message.contains("1 attempts at rows have failed"))
        #expect(problem.message.contains("4 rows are left"))
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
