import SluiceAccess
import SluiceJSON
import SluiceModel
import SluiceServer
import SluiceWire
import Testing

/// A connection learns what has become of its users since they logged in.
struct AdoptedClaimsTests {
    /// A login whose decisions the test makes.
    private struct SlowLogin: Login {
        func decide(_ credentials: [WireCredentials]) -> Result<LoginOutcome, LoginError>? { nil }

        func identify(
            _ credentials: [WireCredentials], of peer: LoginPeer,
            completion: @escaping @Sendable (Result<LoginOutcome, LoginError>) -> Void
        ) {}

        func standings(of users: [User]) -> [LoginStanding] { users.map { _ in .unchanged } }
    }

    private static let guest = JSONValue.object([.init(name: "role", value: .string("guest"))])

    private var connection = ConnectionProtocol(limits: ServerLimits(), login: SlowLogin())

    private mutating func say(_ message: ClientMessage) {
        _ = connection.receive(Frame.encode(message), now: Timestamp(microseconds: 0))
    }

    /// Opens a session for ada.
    private mutating func open() throws -> User {
        say(.hello(.init(features: .all, agent: "test")))
        say(.open(.init(session: 1, path: "planes", schema: Schema())))
        let identity = LoginIdentity(userID: "ada", method: .session)
        _ = connection.decided(1, .success(LoginOutcome(User(identity, mayExtendSchema: false))))
        return try #require(connection.users.first)
    }

    /// The users whom the protocol names to databases.
    private func renewals(_ actions: [ConnectionProtocol.Action]) -> [User] {
        actions.compactMap { if case .renewed(_, _, let user) = $0 { user } else { nil } }
    }

    @Test mutating func otherClaimsOfAUserReachTheDatabaseAndWhatTheLoginIsKnownAs() throws {
        let user = try open()
        let nothing = connection.adopt([user: .unchanged])
        #expect(nothing.isEmpty)
        let changed = renewals(connection.adopt([user: .changed(claims: Self.guest)]))
        #expect(changed.map(\.identity.claims) == [Self.guest] && changed.map(\.id) == ["ada"])
        #expect(connection.users == changed)
        // Whoever logged in later is not among those who were looked at.
        let former = connection.adopt([user: .over])
        #expect(former.isEmpty)
        let end = connection.adopt([changed[0]: .over])
        #expect(end.contains { if case .expel = $0 { true } else { false } })
        #expect(connection.sessions.isEmpty)
    }

    @Test mutating func otherClaimsCountWhileALoginIsRenewedToo() throws {
        let user = try open()
        say(.authenticate(session: 1, credentials: []))
        let changed = renewals(connection.adopt([user: .changed(claims: Self.guest)]))
        #expect(changed.count == 1)
        #expect(connection.users.map(\.identity.claims) == [Self.guest])
        // A login that cannot be checked now leaves what is known.
        _ = connection.decided(1, .failure(LoginError(message: "busy", retryAfter: 5)))
        #expect(connection.users.map(\.identity.claims) == [Self.guest])
    }
}
