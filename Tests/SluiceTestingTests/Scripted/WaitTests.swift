import Sluice
import SluiceModel
import SluiceQuery
import SluiceWire
import Testing

/// When a wait for the server's answer ends (rows S15, S16).
@Suite struct WaitTests {
    private final class Seen {
        var states: [SubscriptionState] = []
    }

    private let server: ScriptedSession
    private let query: Query
    private let seen = Seen()

    init() throws {
        server = try ScriptedSession()
        query = try server.query("User")
        _ = try server.engine.observe(query) { _ in }
        server.open()
        server.bootstrap(1, [ScriptedSession.user(1, age: 40)])
    }

    private func wait() throws {
        _ = try server.engine.awaitStatus(query) { [seen] status in
            seen.states.append(status.state)
            return status.state == .complete || status.state == .error
        }
    }

    @Test func whatIsCompleteAndConnectedNeedsNoWaiting() throws {
        try wait()
        #expect(seen.states == [.complete])
    }

    @Test func whatAnEarlierSessionCompletedIsWaitedForUntilThisOneHasCaughtUp() throws {
        server.loseConnection()
        try wait()
        #expect(seen.states == [.pending])
        server.open(.resumed)
        #expect(!seen.states.contains(.complete))
        server.receive([server.complete(1, .resumed)])
        #expect(seen.states.last == .complete)
    }

    @Test func aWaitThatBeginsWhileCatchingUpEndsWhenThatIsDone() throws {
        server.loseConnection()
        server.open(.resumed)
        try wait()
        #expect(seen.states == [.pending])
        server.receive([server.complete(1, .resumed)])
        #expect(seen.states.last == .complete)
    }

    /// A server whose disk is full ends sessions to try again; what it said is the reason until it takes something.
    @Test func whatTheServerReportedIsTheReasonUntilItAcknowledgesSomething() throws {
        func report() {
            server.receive([.error(.init(code: .internalError, message: "the disk is full", action: .report))])
        }
        try server.setAge(of: 1, to: 41)
        report()
        #expect(server.engine.lastProblem == "the disk is full")
        server.loseConnection()
        #expect(server.engine.lastProblem == "cut")
        server.open(.resumed)
        #expect(server.engine.lastProblem == "the disk is full")
        server.receive([server.complete(1, .resumed)])
        #expect(server.engine.lastProblem == "the disk is full")
        server.commit(4, to: 1, [ScriptedSession.user(1, age: 41, version: 4)], acknowledged: 1)
        server.loseConnection()
        server.open(.resumed, acknowledged: 1)
        #expect(server.engine.lastProblem == nil)
    }

    @Test func aServerThatRefusesForGoodEndsTheWaitAlthoughTheQueryWasComplete() throws {
        server.receive([.error(.init(code: .permissionDenied, message: "no", action: .stop))])
        try wait()
        #expect(seen.states == [.error])
    }
}

extension WaitTests {
    /// What a server says that it has is no number to calculate with unseen.
    @Test(arguments: [1, 7, UInt64.max]) func aServerCannotAcknowledgeMoreThanWasWritten(number: UInt64) throws {
        let server = try ScriptedSession()
        server.open(acknowledged: number)
        #expect(server.engine.acknowledgedSequence == 0)
        try server.engine.write { try $0.insert(ScriptedSession.user(1, age: 0), ofClass: 0) }
        #expect(server.engine.acknowledgedSequence <= 1)
    }
}
