import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import Testing

/// A server that tells its client to start anew (PROTOCOL section 10, action 3).
@Suite struct ResetTests {
    private let server: ScriptedSession
    private let log = EventLog()
    private let observation: UInt64

    init() throws {
        server = try ScriptedSession()
        observation = try server.engine.observe(try server.query("User SORT(id ASC)")) { [log] in log.events.append($0)
        }
        server.open()
        server.bootstrap(1, [ScriptedSession.user(1, age: 40), ScriptedSession.user(2, age: 50)])
        try server.setAge(of: 1, to: 41)
        _ = server.actions()
        server.receive([
            .error(.init(session: 1, code: .clientReset, message: "too long", action: .reset, retryAfter: 5_000))
        ])
        server.engine.observerIsReady(observation)
    }

    @Test func whatCameFromTheServerIsForgottenAndWhatItDoesNotHaveIsKept() throws {
        #expect(server.storage.syncState == nil)
        #expect(try server.age(of: 1) == .int(41) && server.age(of: 2) == nil)
        #expect(server.storage.outboxCount == 1)
        // The write, which is local, and the reset, which is the server's, are two events.
        for _ in 0..<2 { server.engine.observerIsReady(observation) }
        #expect(log.ages.last == [.int(41)] && log.events.last?.status.state == .pending)
        #expect(log.events.last?.remote != nil)
    }

    @Test func theClientComesAgainNoSoonerThanAsked() throws {
        let actions = server.actions()
        #expect(actions.first == .disconnect)
        guard case .reconnect(let delay)? = actions.last else {
            Issue.record("\(actions)")
            return
        }
        #expect(delay >= .seconds(5))
    }

    @Test func theNextSessionBeginsWithoutIdentityAndUploadsWhatIsKept() throws {
        _ = server.actions()
        server.open(.created)
        let sent = server.sent()
        let opens = sent.compactMap { if case .open(let open) = $0 { open } else { nil } }
        #expect(opens.map(\.identity) == [nil] && opens.map(\.version) == [0])
        let resumes = sent.compactMap { message -> Bool? in
            if case .subscribe(let subscribe) = message { subscribe.resume != nil } else { nil }
        }
        #expect(resumes == [false])
        let sequences = sent.flatMap { message -> [UInt64] in
            if case .upload(_, let changesets) = message { changesets.map(\.sequence) } else { [] }
        }
        #expect(sequences == [1])
        server.bootstrap(1, [ScriptedSession.user(1, age: 40), ScriptedSession.user(3, age: 60)])
        server.commit(4, to: 1, [ScriptedSession.user(1, age: 41, version: 4)], acknowledged: 1)
        #expect(try server.age(of: 1) == .int(41) && server.age(of: 3) == .int(60))
        #expect(server.storage.outboxCount == 0)
    }
}
