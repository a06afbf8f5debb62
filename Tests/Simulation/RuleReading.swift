import SluiceModel
import TestSupport

/// Who the user of a simulated client is, as a token says it.
struct SimulatedIdentity: Hashable {
    /// The key of an object of the class User; nil for somebody without a name.
    var user: Int64?
    var role: String?
    var level: Int64?

    var userID: String? { user.map { "\($0)" } }
}

/// What the rules of a simulation ask about a user before they look at any object, read naively.
struct RuleFacts {
    /// The dealers on whose staff the user is.
    private(set) var employers: Set<ObjectKey> = []
    /// The users who name the user as a friend.
    private(set) var circle: Set<ObjectKey> = []
    /// The cars of these dealers.
    private(set) var stock: Set<ObjectKey> = []
    let isAdmin: Bool
    private(set) var isSenior = false
    private(set) var isStaff: Bool

    init(of identity: SimulatedIdentity, in state: ServerState) {
        isAdmin = identity.role == "admin"
        isStaff = isAdmin
        guard let user = identity.user, let object = state.object("User", .int(user)) else { return }
        employers = Set(object.linking("Dealer", "staff").map(\.key))
        circle = Set(object.linking("User", "friends").map(\.key))
        for key in employers {
            stock.formUnion(state.object("Dealer", key)?.linking("Car", "dealer").map(\.key) ?? [])
        }
        isSenior = object.int("age") ?? 0 > 5
        isStaff = isStaff || !employers.isEmpty
    }
}

/// What a condition is asked about: an object, and a user.
struct RuleSubject {
    let object: RuledObject
    let identity: SimulatedIdentity
    let facts: RuleFacts

    /// Whether an object is the user's own; nil for a user without a name.
    func isUser(_ other: RuledObject?) -> Bool? { identity.user.map { other?.key == .int($0) } }

    /// Whether one of several objects is the user's own; nil for a user without a name.
    func isUser(oneOf others: [RuledObject]) -> Bool? {
        identity.user.map { user in others.contains { $0.key == .int(user) } }
    }
}
