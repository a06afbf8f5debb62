import Sluice
import SluiceModel
import SluiceWire
import Testing

/// What a server says of a subscription when it must not: the client leaves the connection, says what came when, and
/// comes again.
struct OutOfTurnTests {
    /// A state of a subscription, and how a server brings it there.
    enum Situation: String, CaseIterable {
        case requestedAnew = "requested anew"
        case requestedToResume = "requested to resume"
        case sentWhole = "sent whole"
        case compared = "compared"
        case complete = "complete"
        case switching = "brought to another context"
        case refused = "refused"

        func session() throws -> ScriptedSession {
            let server = try ScriptedSession()
            _ = try server.engine.observe(server.query("User")) { _ in }
            server.open()
            switch self {
            case .requestedAnew: break
            case .requestedToResume: Self.resume(server)
            case .sentWhole: server.receive([OutOfTurnTests.page(.bootstrap)])
            case .compared:
                Self.resume(server)
                server.receive([.listMembers(session: 1, subscription: 1)])
            case .complete: server.bootstrap(1, [ScriptedSession.user(1, age: 30)])
            case .switching:
                server.bootstrap(1, [ScriptedSession.user(1, age: 30)])
                server.receive([OutOfTurnTests.page(.resumed)])
            case .refused: server.receive([OutOfTurnTests.refusal])
            }
            _ = server.actions()
            return server
        }

        private static func resume(_ server: ScriptedSession) {
            server.bootstrap(1, [ScriptedSession.user(1, age: 30)])
            server.loseConnection()
            server.greet()
            server.opened(.resumed)
        }

        /// What the server may say now.
        var legal: Set<Saying> {
            switch self {
            case .requestedAnew: [.page, .completion, .refusal]
            case .requestedToResume: [.page, .difference, .endOfDifferences, .memberList, .refusal]
            case .sentWhole: [.page, .completion, .refusal]
            case .compared, .complete: [.page, .difference, .endOfDifferences, .refusal]
            case .switching: [.page, .difference, .endOfDifferences, .memberList, .refusal]
            case .refused: []
            }
        }
    }

    enum Saying: String, CaseIterable {
        case page = "a page of a bootstrap"
        case difference = "a page of differences"
        case completion = "the end of a bootstrap"
        case endOfDifferences = "the end of differences"
        case memberList = "a request for its members"
        case refusal = "a refusal"

        func message(in session: ScriptedSession) -> ServerMessage {
            switch self {
            case .page: OutOfTurnTests.page(.bootstrap)
            case .difference: OutOfTurnTests.page(.resumed)
            case .completion: session.complete(1, .bootstrap)
            case .endOfDifferences: session.complete(1, .resumed)
            case .memberList: .listMembers(session: 1, subscription: 1)
            case .refusal: OutOfTurnTests.refusal
            }
        }
    }

    private static func page(_ kind: ServerMessage.Complete.Kind) -> ServerMessage {
        .page(
            .init(session: 1, subscriptions: [1], version: 3, progress: 0.5, kind: kind, content: ViewBlock()))
    }

    private static let refusal = ServerMessage.subscriptionError(
        .init(session: 1, subscription: 1, code: .invalidQuery, message: "no", position: nil))

    @Test(arguments: Situation.allCases, Saying.allCases)
    func `what a server says out of turn ends the connection and names the state and the message`(
        situation: Situation, saying: Saying
    ) throws {
        let server = try situation.session()
        server.receive([saying.message(in: server)])
        let hasLeft = server.actions().contains(.disconnect)
        #expect(hasLeft == !situation.legal.contains(saying))
        guard hasLeft else { return #expect(server.engine.lastProblem == nil) }
        #expect(
            server.engine.lastProblem
                == "the server has not followed the protocol: a subscription that is \(situation.rawValue) cannot have "
                + saying.rawValue)
        server.engine.handle(.reconnect)
        #expect(server.actions().contains { if case .connect = $0 { true } else { false } })
    }

    @Test func `a second hello ends the connection`() throws {
        let server = try ScriptedSession()
        server.open()
        _ = server.actions()
        server.receive([
            .hello(.init(version: 1, features: [], time: ScriptedSession.now, limits: ServerLimits(), agent: "script"))
        ])
        #expect(server.actions().contains(.disconnect))
        #expect(
            server.engine.lastProblem
                == "the server has not followed the protocol: the server's hello came while the session was open")
    }

    @Test func `a session that opens before the hello ends the connection`() throws {
        let server = try ScriptedSession()
        server.engine.handle(.start)
        server.engine.handle(.opened())
        _ = server.actions()
        server.opened(.created)
        #expect(server.actions().contains(.disconnect))
        #expect(
            server.engine.lastProblem
                == "the server has not followed the protocol: the answer to open came while the session was waiting for "
                + "the server's hello")
    }
}
