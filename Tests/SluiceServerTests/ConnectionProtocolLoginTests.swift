import SluiceAccess
import SluiceModel
import SluiceServer
import SluiceWire
import Testing

/// Logins that take time, that end, and that are renewed, on one connection.
struct ConnectionProtocolLoginTests {
    /// A login whose decisions the test makes.
    private struct SlowLogin: Login {
        func decide(_ credentials: [WireCredentials]) -> Result<LoginOutcome, LoginError>? { nil }

        func identify(
            _ credentials: [WireCredentials], of peer: LoginPeer,
            completion: @escaping @Sendable (Result<LoginOutcome, LoginError>) -> Void
        ) {}

        func standings(of users: [User]) -> [LoginStanding] { users.map { _ in .unchanged } }
    }

    private static func time(_ seconds: Int64) -> Timestamp { Timestamp(microseconds: seconds * 1_000_000) }

    private static func outcome(_ id: String?, expiresAt seconds: Int64? = nil) -> Result<LoginOutcome, LoginError> {
        let identity = LoginIdentity(userID: id, method: .token, expiresAt: seconds.map(time))
        return .success(LoginOutcome(User(identity, mayExtendSchema: true)))
    }

    private var connection = ConnectionProtocol(limits: ServerLimits(), login: SlowLogin())

    private mutating func say(_ messages: ClientMessage..., at seconds: Int64 = 0) throws -> [String] {
        try messages.flatMap { message in
            try ConnectionProtocolTests.summary(connection.receive(Frame.encode(message), now: Self.time(seconds)))
        }
    }

    private mutating func decide(_ decision: Result<LoginOutcome, LoginError>, session: UInt64 = 1) throws -> [String] {
        try ConnectionProtocolTests.summary(connection.decided(session, decision))
    }

    private mutating func open(expiresAt seconds: Int64? = nil) throws {
        _ = try say(ConnectionProtocolTests.hello, ConnectionProtocolTests.open(1))
        _ = try decide(Self.outcome("ada", expiresAt: seconds))
    }

    @Test mutating func messagesWaitForTheLogin() throws {
        let asked = try say(
            ConnectionProtocolTests.hello, ConnectionProtocolTests.open(1), .credit(session: 1, pages: 1))
        #expect(asked == ["hello 1", "authenticate 1 false"])
        #expect(connection.sessions.isEmpty)
        #expect(try decide(Self.outcome("ada")) == ["open 1 planes", "deliver 1 planes 1"])
        #expect(connection.sessions == [1: "planes"])
        #expect(try decide(Self.outcome("eve")).isEmpty)
    }

    @Test mutating func aLoginThatIsRefusedEndsTheSessionWithWhatWaited() throws {
        _ = try say(ConnectionProtocolTests.hello, ConnectionProtocolTests.open(1), .credit(session: 1, pages: 1))
        #expect(try decide(.failure(LoginError(message: "no"))) == ["error 1 authenticationFailed"])
        #expect(try say(.credit(session: 1, pages: 1)).isEmpty)
    }

    @Test mutating func aLoginThatCannotBeCheckedNowIsTriedAgain() throws {
        _ = try say(ConnectionProtocolTests.hello, ConnectionProtocolTests.open(1))
        #expect(try decide(.failure(LoginError(message: "busy", retryAfter: 5))) == ["error 1 overloaded"])
    }

    @Test mutating func aSessionThatIsClosedBeforeItsLoginIsDecidedStaysClosed() throws {
        _ = try say(ConnectionProtocolTests.hello, ConnectionProtocolTests.open(1), .close(session: 1))
        #expect(try decide(Self.outcome("ada")).isEmpty)
    }

    @Test mutating func whoSendsTooMuchBeforeTheLoginIsSentAway() throws {
        _ = try say(ConnectionProtocolTests.hello, ConnectionProtocolTests.open(1))
        var last: [String] = []
        var count = 0
        while last.isEmpty, count < 2_000 {
            last = try say(.credit(session: 1, pages: 1))
            count += 1
        }
        #expect(count == 1_001)
        #expect(last.first == "error 0 protocolViolation")
    }

    @Test mutating func aSessionEndsAMinuteAfterItsProof() throws {
        try open(expiresAt: 100)
        #expect(try ConnectionProtocolTests.summary(connection.expire(now: Self.time(159))).isEmpty)
        #expect(try say(.credit(session: 1, pages: 1), at: 159) == ["deliver 1 planes 1"])
        let end = ["forget 1 planes", "expel: the credentials of the session have expired"]
        #expect(try say(.credit(session: 1, pages: 1), at: 160) == end)
        #expect(connection.sessions.isEmpty)
    }

    @Test mutating func aRenewedLoginLastsLonger() throws {
        try open(expiresAt: 100)
        #expect(try say(.authenticate(session: 1, credentials: []), at: 90) == ["authenticate 1 true"])
        #expect(try decide(Self.outcome("ada", expiresAt: 300)) == ["login 1", "renewed 1 planes"])
        #expect(try say(.credit(session: 1, pages: 1), at: 200) == ["deliver 1 planes 1"])
    }

    @Test mutating func aRenewalByAnotherUserOrByNobodyEndsTheSession() throws {
        for decision in [Self.outcome("eve"), Self.outcome(nil), .failure(LoginError(message: "no"))] {
            connection = ConnectionProtocol(limits: ServerLimits(), login: SlowLogin())
            try open()
            _ = try say(.authenticate(session: 1, credentials: []))
            #expect(try decide(decision) == ["forget 1 planes", "error 1 authenticationFailed"])
        }
    }

    @Test mutating func ofCredentialsThatComeWhileOthersAreCheckedTheLastAreCheckedNext() throws {
        try open()
        let renewal = ClientMessage.authenticate(session: 1, credentials: [WireCredentials(.token, [1])])
        #expect(try say(renewal) == ["authenticate 1 true"])
        #expect(try say(renewal, renewal).isEmpty)
        #expect(try decide(Self.outcome("ada")) == ["renewed 1 planes", "authenticate 1 true"])
        #expect(try decide(Self.outcome("ada")) == ["renewed 1 planes"])
        #expect(connection.sessions == [1: "planes"])
    }

    @Test mutating func aRenewalThatCannotBeCheckedNowLeavesTheSessionAsItIs() throws {
        try open(expiresAt: 100)
        _ = try say(.authenticate(session: 1, credentials: []))
        #expect(try decide(.failure(LoginError(message: "busy", retryAfter: 5))) == ["error 1 overloaded"])
        #expect(connection.sessions == [1: "planes"])
    }

    @Test mutating func aConnectionThatEndsForgetsItsOpenSessions() throws {
        try open()
        _ = try say(ConnectionProtocolTests.open(2))
        #expect(
            try ConnectionProtocolTests.summary(connection.disconnected(because: "the cable")) == ["forget 1 planes"])
        #expect(try decide(Self.outcome("ada"), session: 2).isEmpty)
    }
}
