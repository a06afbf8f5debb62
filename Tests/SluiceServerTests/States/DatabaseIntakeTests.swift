import SluiceModel
import SluiceWire
import Testing

@testable import SluiceServer

/// The table of what a database's worker takes, which the header of `DatabaseIntake` shows.
struct DatabaseIntakeTests {
    typealias Phase = DatabaseIntake.Phase

    private static let event = DatabaseEvent.closed(SessionID(connection: 1, session: 1))

    private static func intake(_ phase: Phase) -> DatabaseIntake {
        var intake = DatabaseIntake()
        switch phase {
        case .open: break
        case .kept: _ = intake.keep()
        case .retired: _ = intake.retire()
        case .stopping: intake.stop()
        }
        return intake
    }

    private static func post(to intake: inout DatabaseIntake) -> DatabaseIntake.Posting {
        intake.post(event, byteCount: 1, of: nil, from: nil, at: 5)
    }

    @Test(arguments: Phase.allCases)
    func `work of the process keeps a worker that has not retired`(phase: Phase) {
        var intake = Self.intake(phase)
        #expect(intake.phase == phase)
        #expect(intake.keep() == (phase != .retired))
        #expect(intake.phase == (phase == .open ? .kept : phase))
    }

    @Test(arguments: Phase.allCases)
    func `only an open worker retires, and only while nothing waits`(phase: Phase) {
        var intake = Self.intake(phase)
        #expect(intake.retire() == (phase == .open))
        #expect(intake.phase == (phase == .open ? .retired : phase))
        var busy = DatabaseIntake()
        _ = Self.post(to: &busy)
        #expect(busy.retire() == false)
        #expect(busy.phase == .open)
    }

    @Test(arguments: Phase.allCases)
    func `a worker stops from every phase, and drops what waits`(phase: Phase) {
        var intake = Self.intake(phase)
        _ = Self.post(to: &intake)
        intake.stop()
        #expect(intake.phase == .stopping)
        #expect(intake.counts.events == 0 && intake.isIdle)
    }

    @Test(arguments: Phase.allCases)
    func `an event waits, is dropped, or is another worker's`(phase: Phase) {
        var intake = Self.intake(phase)
        let expected: DatabaseIntake.Posting =
            switch phase {
            case .open, .kept: .waits(mustSchedule: true)
            case .retired: .refused
            case .stopping: .dropped
            }
        #expect(Self.post(to: &intake) == expected)
        #expect(intake.counts.events == (phase == .open || phase == .kept ? 1 : 0))
    }

    @Test func `one turn is asked for, and has all that came before it`() {
        var intake = DatabaseIntake()
        #expect(intake.schedule() == true)
        #expect(intake.schedule() == false)
        #expect(Self.post(to: &intake) == .waits(mustSchedule: false))
        intake.noteJournalGrowth()
        let turn = intake.takeTurn()
        #expect(turn.events.count == 1 && turn.since == 5 && turn.journalHasGrown)
        #expect(!intake.journalHasGrown)
        #expect(!intake.isIdle)
        #expect(intake.endTurn(hasWork: false) == false)
        #expect(intake.isIdle)
    }

    @Test func `another turn follows where something came meanwhile, or the database has work`() {
        var intake = DatabaseIntake()
        _ = intake.schedule()
        _ = intake.takeTurn()
        #expect(intake.endTurn(hasWork: true) == true)
        _ = Self.post(to: &intake)
        #expect(intake.endTurn(hasWork: false) == true)
        intake.stop()
        #expect(intake.endTurn(hasWork: true) == false)
    }
}
