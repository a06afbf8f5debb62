import Sluice
import SluiceModel
import SluiceStorage
import SluiceTransport
import SluiceWire
import Testing

/// What a client makes of the end of a connection, by what it says of another attempt.
@Suite struct OutlookTests {
    private typealias Outlook = TransportError.Outlook

    /// What the client does next: how long it waits, or nil if it gives up.
    private func wait(_ server: ScriptedSession, _ outlook: Outlook, asking wait: Duration = .zero) -> Duration? {
        _ = server.actions()
        server.engine.handle(.closed(reason: "trouble", outlook: outlook, wait: wait))
        for case .reconnect(let delay) in server.actions() { return delay }
        return nil
    }

    private func connecting(_ server: ScriptedSession) -> ScriptedSession {
        server.engine.handle(.start)
        server.engine.handle(.reconnect)
        return server
    }

    @Test(arguments: [Outlook.passing, .unclear, .lasting])
    private func whoHasReachedTheServerGivesUpForALastingReasonAlone(outlook: Outlook) throws {
        let server = try ScriptedSession()
        server.open()
        #expect((wait(server, outlook) != nil) == (outlook != .lasting))
        // Also in the attempts that follow.
        let other = try ScriptedSession()
        other.open()
        for _ in 0..<3 {
            other.loseConnection()
            other.engine.handle(.reconnect)
        }
        #expect((wait(other, outlook) != nil) == (outlook != .lasting))
    }

    @Test(arguments: [Outlook.passing, .unclear, .lasting])
    private func whoNeverReachedAServerTriesAgainForAPassingReasonAlone(outlook: Outlook) throws {
        #expect((wait(connecting(try ScriptedSession()), outlook) != nil) == (outlook == .passing))
    }

    @Test func whoHasDiscardedWhatItHadHasStillReachedItsServer() throws {
        let server = try ScriptedSession()
        server.open()
        server.receive([
            .error(.init(session: 1, code: .internalError, message: "again", action: .reset))
        ])
        server.engine.handle(.reconnect)
        #expect(server.storage.syncState == nil)
        #expect(wait(server, .unclear) != nil)
    }

    @Test(arguments: [(0, 0), (5, 5), (60, 60), (300, 300), (301, 300), (86_400, 300)] as [(Int, Int)])
    func aWaitThatIsAskedForCountsUpToTheLongestOfTheStore(asked: Int, expected: Int) throws {
        let server = connecting(try ScriptedSession())
        let delay = try #require(wait(server, .passing, asking: .seconds(asked)))
        #expect(delay >= .seconds(expected) && delay <= max(.seconds(expected), .seconds(1)))
    }

    @Test func whoeverHasAnotherServerToTryDoesNotWaitForTheOneThatAsks() throws {
        let server = connecting(try ScriptedSession { $0.serverCount = 2 })
        #expect(wait(server, .passing, asking: .seconds(60)) == .zero)
        server.engine.handle(.reconnect)
        let delay = try #require(wait(server, .passing, asking: .seconds(60)))
        #expect(delay == .seconds(60))
    }
}
