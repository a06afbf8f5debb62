import Testing

@testable import Sluice

/// The tables of a session's phases, which the header of `SessionPhase` shows.
struct SessionPhaseTests {
    typealias Phase = SessionPhase

    static let error = SyncError(.storage, "the disk is full")
    static let phases: [Phase] = [
        .stopped, .paused, .waiting, .connecting, .greeting, .opening, .active, .failed(error),
    ]
    static let events: [Phase.Event] = [
        .attempt, .connected, .hello, .opened, .comeAgain, .stop, .pause, .failure(error),
    ]

    /// The phases after each event, in the order of `phases`; nil where the event cannot happen.
    static let table: [Phase.Event: [Phase?]] = [
        .attempt: [.connecting, .connecting, .connecting, nil, nil, nil, nil, .connecting],
        .connected: [.stopped, .paused, .waiting, .greeting, .greeting, .opening, .active, .failed(error)],
        .hello: [nil, nil, nil, nil, .opening, nil, nil, nil],
        .opened: [nil, nil, nil, nil, nil, .active, nil, nil],
        .comeAgain: [.stopped, .paused, .waiting, .waiting, .waiting, .waiting, .waiting, .failed(error)],
        .stop: Array(repeating: .stopped, count: 8),
        .pause: [.stopped, .paused, .paused, .paused, .paused, .paused, .paused, .failed(error)],
        .failure(error): Array(repeating: .failed(error), count: 8),
    ]

    /// The reactions to each wish, in the order of `phases`.
    static let reactions: [Phase.Wish: [Phase.Reaction]] = [
        .start: [.attempt, .attempt, .none, .none, .none, .none, .none, .attempt],
        .resume: [.none, .attempt, .none, .none, .none, .none, .none, .none],
        .retryAfterFailure: [.none, .none, .none, .none, .none, .none, .none, .attempt],
        .reconnectNow: [.none, .none, .attemptAtOnce, .none, .none, .none, .none, .none],
        .waitOver: [.none, .none, .attempt, .none, .none, .none, .none, .none],
        .networkChanged: [.none, .none, .attemptAtOnce, .giveUp, .giveUp, .giveUp, .probe, .none],
    ]

    @Test(arguments: events)
    func `an event leads to the phase of the table, or is refused with both names`(event: Phase.Event) throws {
        let row = try #require(Self.table[event])
        for (phase, expected) in zip(Self.phases, row) {
            if let expected {
                #expect(try phase.after(event) == expected)
            } else {
                let error = #expect(throws: SessionPhase.IllegalTransition.self) { try phase.after(event) }
                #expect(error?.phase == phase)
                #expect(error?.event == event)
            }
        }
    }

    @Test(arguments: Phase.Wish.allCases)
    func `a wish comes to the reaction of the table`(wish: Phase.Wish) throws {
        #expect(Self.phases.map { $0.reaction(to: wish) } == Self.reactions[wish])
    }

    @Test func `what cannot happen says what came, and when`() {
        let error = #expect(throws: SessionPhase.IllegalTransition.self) { try Phase.active.after(.hello) }
        #expect(error?.message == "the server's hello came while the session was open")
    }
}
