import SluiceAccess
import SluiceModel
import SluiceTesting
import SluiceTransport
import SluiceWire
import Testing

@testable import SluiceServer

/// What the ledger of quotas counts is what there is, however sessions and connections end.
struct SessionPlaceTests {
    /// Decides by the first byte of what a session presents: let in at once, let in until a time, or decided later.
    private struct ByteLogin: Login {
        static let soon = Timestamp(microseconds: 1_000_000)

        func decide(_ credentials: [WireCredentials]) -> Result<LoginOutcome, LoginError>? {
            switch credentials.first?.payload.first {
            case nil, 0: .success(LoginOutcome(User(id: "ada", mayExtendSchema: true)))
            case 1: .failure(LoginError(message: "no"))
            case 2: .success(Self.passing)
            default: nil
            }
        }

        static var passing: LoginOutcome {
            LoginOutcome(
                User(
                    LoginIdentity(userID: "ada", method: .custom, expiresAt: soon),
                    mayExtendSchema: true))
        }

        func identify(
            _ credentials: [WireCredentials], of peer: LoginPeer,
            completion: @escaping @Sendable (Result<LoginOutcome, LoginError>) -> Void
        ) {}

        func standings(of users: [User]) -> [LoginStanding] { users.map { _ in .unchanged } }
    }

    /// A connection whose actions are carried out as the door does it, with a plain count of its open sessions.
    private struct Peer {
        var machine = ConnectionProtocol(limits: ServerLimits(), login: ByteLogin())
        /// The sessions that the database knows.
        var open: Set<UInt64> = []
        var waiting: Set<UInt64> = []
        let ledger: QuotaLedger

        mutating func perform(_ body: (inout ConnectionProtocol) -> [ConnectionProtocol.Action]) {
            for action in body(&machine) {
                switch action {
                case .open(let session, _, _, let user, _):
                    guard let place = ledger.open(by: Holder(user, at: "192.0.2.1")) else {
                        machine.ended(session: session)
                        continue
                    }
                    machine.keep(place, for: session)
                    open.insert(session)
                case .authenticate(let session, _, _, _): waiting.insert(session)
                case .deliver(let session, _, _, let messages, _):
                    if messages.contains(where: { if case .close = $0 { true } else { false } }) {
                        open.remove(session)
                    }
                case .forget(let session, _, _, _): open.remove(session)
                case .send, .renewed, .expel, .close: break
                }
            }
        }

        mutating func send(_ messages: ClientMessage..., now: Timestamp) {
            var frame = FrameBuilder()
            for message in messages { frame.append(message) }
            perform { $0.receive(frame.finish(), now: now) }
        }
    }

    @Test(arguments: 0..<60) func theLedgerCountsTheSessionsThatThereAreHoweverTheyEnd(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        var quotas = Quotas()
        quotas.sessionCountMaxPerUser = seed % 3 == 0 ? 3 : nil
        let ledger = QuotaLedger(quotas)
        var peers: [Peer] = []
        var next: UInt64 = 0
        var now = Timestamp(microseconds: 1)
        func count() -> Int { peers.reduce(0) { $0 + $1.open.count } }
        for _ in 0..<150 {
            if peers.isEmpty || Int.random(in: 0..<12, using: &generator) == 0 {
                var peer = Peer(ledger: ledger)
                peer.send(.hello(.init(features: .all, agent: "test")), now: now)
                peers.append(peer)
            }
            let index = Int.random(in: 0..<peers.count, using: &generator)
            let session = peers[index].machine.sessions.keys.sorted().randomElement(using: &generator)
            switch Int.random(in: 0..<14, using: &generator) {
            case 0...4:
                next += 1
                let byte = UInt8.random(in: 0...4, using: &generator)
                let open = ClientMessage.open(
                    .init(session: next, path: "db", credentials: [WireCredentials(.token, [byte])], schema: Schema()))
                // At times it is closed in the same frame.
                if Int.random(in: 0..<4, using: &generator) == 0 {
                    peers[index].send(open, .close(session: next), now: now)
                } else {
                    peers[index].send(open, now: now)
                }
            case 5, 6:
                guard let session else { break }
                peers[index].send(.close(session: session), now: now)
            case 7:
                guard let session else { break }
                peers[index].machine.ended(session: session)
                peers[index].open.remove(session)
            case 8:
                guard let session = peers[index].waiting.randomElement(using: &generator) else { break }
                peers[index].waiting.remove(session)
                let isRight = Bool.random(using: &generator)
                peers[index].perform {
                    $0.decided(
                        session, isRight ? .success(ByteLogin.passing) : .failure(LoginError(message: "no")))
                }
            case 9:
                guard let session else { break }
                let byte = UInt8.random(in: 0...4, using: &generator)
                peers[index].send(
                    .authenticate(session: session, credentials: [WireCredentials(.token, [byte])]), now: now)
            case 10:
                peers[index].perform { $0.handOver(to: "ws://other") }
                peers[index].perform { $0.handOver(to: nil) }
            case 11:
                now = Timestamp(microseconds: now.microseconds + 300_000)
                for place in peers.indices { peers[place].perform { $0.expire(now: now) } }
            case 12: peers[index].perform { $0.expel(because: "revoked", .authenticationFailed) { _ in true } }
            default:
                peers[index].perform { $0.disconnected(because: "the test ends it") }
                peers.remove(at: index)
            }
            #expect(ledger.heldCounts.sessions == count(), "seed \(seed)")
        }
        for index in peers.indices { peers[index].perform { $0.disconnected(because: "the test ends it") } }
        #expect(ledger.heldCounts.sessions == 0)
    }

    /// A connection that nobody hears.
    private final class SilentConnection: MessageConnection {
        let id = ConnectionID(rawValue: 1)
        let peerDescription = "192.0.2.1:4000"
        let queuedBytes = 0

        func send(_ message: SharedBuffer) {}
        func admit() {}
        func close(code: CloseCode, reason: String) {}
        func abort() {}
        func pauseReceiving(for reason: PauseReason) {}
        func resumeReceiving(after reason: PauseReason) {}
    }

    /// What a database has yet to do for a connection holds on to it.
    @Test func aConnectionThatHasEndedGivesItsPlaceBackWhileADatabaseStillKnowsIt() throws {
        let ledger = QuotaLedger(Quotas())
        let peer = PeerConnection(
            SilentConnection(), LoginPeer(address: "192.0.2.1"),
            ConnectionProtocol(limits: ServerLimits(), login: ByteLogin()),
            slot: try #require(ledger.connect(from: "192.0.2.1")), log: nil
        ) { _, _ in }
        #expect(ledger.heldCounts.connections == 1)
        peer.disconnected(because: "the test ends it")
        #expect(ledger.heldCounts.connections == 0)
        withExtendedLifetime(peer) {}
    }

    /// A server with a quota of one session, which each way of ending one must give back.
    @Test func aSessionThatHasEndedGivesItsPlaceBackHoweverItEnded() async throws {
        let network = LoopbackNetwork()
        var configuration = ServerConfiguration(host: "server", isDevelopment: true)
        configuration.loopback = network
        configuration.quotas.sessionCountMaxPerUser = 1
        let server = try SyncServer(configuration)
        try server.start()

        func connect() async throws -> (RawClient, any MessageConnection) {
            let client = RawClient()
            let connection = network.connect(to: try Endpoint("ws://server/any"), delegate: client)
            connection.send(.hello(.init(features: .all, agent: "test")))
            _ = await client.next()
            return (client, connection)
        }
        /// Opens a session, which must be let in.
        func open(_ session: UInt64, _ client: RawClient, _ connection: any MessageConnection) async {
            connection.send(.open(.init(session: session, path: "db", schema: Schema())))
            guard case .opened? = await client.next() else {
                Issue.record("session \(session) was not opened")
                return
            }
            #expect(server.heldCounts.sessions == 1)
        }

        let (client, connection) = try await connect()
        // Closed by its client, again and again on one connection.
        for session in 1...5 as ClosedRange<UInt64> {
            await open(session, client, connection)
            connection.send(.close(session: session))
        }
        // Ended by the server.
        await open(6, client, connection)
        connection.send(.subscribe(.init(session: 6, subscription: 0, query: "Plane")))
        guard case .error? = await client.next() else {
            Issue.record("the session was not ended")
            return
        }
        _ = await server.isQuiet()
        // Refused, since there is one.
        await open(7, client, connection)
        connection.send(.open(.init(session: 8, path: "db", schema: Schema())))
        guard case .error(let refusal)? = await client.next() else {
            Issue.record("a second session was let in")
            return
        }
        #expect(refusal.code == .limitExceeded)
        connection.send(.close(session: 7))
        // Handed over.
        await open(9, client, connection)
        try server.handOver(to: "ws://other:1")
        guard case .moved? = await client.next() else {
            Issue.record("the session was not handed over")
            return
        }
        try server.handOver(to: nil)
        // Cut.
        await open(10, client, connection)
        connection.abort()
        _ = await client.end()
        let (other, second) = try await connect()
        await open(1, other, second)
        second.close(code: .goingAway, reason: "")
        _ = await other.end()
        await network.flush()
        #expect(server.heldCounts == (0, 0))
        await server.stop()
    }
}
