import SluiceAccess
import SluiceJSON
import SluiceModel
import SluiceServer
import SluiceWire

/// Makes the tokens of a simulation's users, and checks them.
final class SimulatedIssuer {
    /// What the next token of a user says.
    private var identities: [Int64?: SimulatedIdentity] = [:]
    /// Tokens of earlier generations were revoked.
    private var generations: [Int64?: Int] = [:]
    /// How long tokens hold, in microseconds; nil for ever.
    var lifetime: Int64?

    func identity(of user: Int64?) -> SimulatedIdentity { identities[user] ?? SimulatedIdentity(user: user) }

    func set(_ identity: SimulatedIdentity) { identities[identity.user] = identity }

    func revoke(_ user: Int64?) { generations[user, default: 0] += 1 }

    func token(of user: Int64?, now: Timestamp) -> SimulatedToken {
        SimulatedToken(
            identity: identity(of: user), generation: generations[user] ?? 0,
            expiresAt: lifetime.map { now.microseconds + $0 })
    }

    /// Says whose credentials these are.
    func judge(
        _ credentials: [WireCredentials], now: Timestamp
    ) -> Result<(LoginOutcome, SimulatedIdentity), LoginError> {
        guard let token = credentials.last.flatMap({ SimulatedToken($0) }) else {
            return .failure(LoginError(message: "no token"))
        }
        let identity = token.identity
        var proved = LoginIdentity(userID: identity.userID, method: .token, claims: token.claims)
        proved.expiresAt = token.expiresAt.map { Timestamp(microseconds: $0) }
        let isOver = proved.endsAt.map { $0 <= now } ?? false
        guard !isOver, token.generation == generations[identity.user] ?? 0 else {
            return .failure(LoginError(message: "the token does not hold"))
        }
        return .success((LoginOutcome(User(proved, mayExtendSchema: true)), identity))
    }
}

/// Says who somebody is, until a time.
struct SimulatedToken: Hashable {
    let identity: SimulatedIdentity
    let generation: Int
    let expiresAt: Int64?

    init(identity: SimulatedIdentity, generation: Int, expiresAt: Int64?) {
        self.identity = identity
        self.generation = generation
        self.expiresAt = expiresAt
    }

    init?(_ credentials: WireCredentials) {
        let parts = String(decoding: credentials.payload, as: UTF8.self)
            .split(separator: "/", omittingEmptySubsequences: false)
        guard credentials.kind == .token, parts.count == 5, let generation = Int(parts[3]) else { return nil }
        identity = SimulatedIdentity(
            user: Int64(parts[0]), role: parts[1].isEmpty ? nil : String(parts[1]), level: Int64(parts[2]))
        self.generation = generation
        expiresAt = Int64(parts[4])
    }

    var credentials: WireCredentials {
        func text(_ value: (some CustomStringConvertible)?) -> String { value.map { "\($0)" } ?? "" }
        let parts = [text(identity.user), text(identity.role), text(identity.level), "\(generation)", text(expiresAt)]
        return WireCredentials(.token, Array(parts.joined(separator: "/").utf8))
    }

    var claims: JSONValue {
        var members: [JSONValue.Member] = []
        if let role = identity.role { members.append(.init(name: "role", value: .string(role))) }
        if let level = identity.level { members.append(.init(name: "level", value: .integer(level))) }
        return .object(members)
    }
}

/// A login that always takes time: the simulation decides when, and asks its issuer.
struct DeferredLogin: Login {
    func decide(_ credentials: [WireCredentials]) -> Result<LoginOutcome, LoginError>? { nil }

    func identify(
        _ credentials: [WireCredentials], of peer: LoginPeer,
        completion: @escaping @Sendable (Result<LoginOutcome, LoginError>) -> Void
    ) {}

    func standings(of users: [User]) -> [LoginStanding] { users.map { _ in .unchanged } }
}
