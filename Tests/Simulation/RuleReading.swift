import SluiceModel

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
        guard let user = identity.user, let object = RuledObject("User", .int(user), in: state) else { return }
        employers = Set(object.linking("Dealer", "staff").map(\.key))
        circle = Set(object.linking("User", "friends").map(\.key))
        for key in employers {
            let dealer = RuledObject("Dealer", key, in: state)
            stock.formUnion(dealer?.linking("Car", "dealer").map(\.key) ?? [])
        }
        isSenior = object.int("age") ?? 0 > 5
        isStaff = isStaff || !employers.isEmpty
    }
}

/// An object of a state, read without anything of the product but its data.
struct RuledObject {
    let className: String
    let row: Row
    private let state: ServerState

    init(_ className: String, _ row: Row, in state: ServerState) {
        self.className = className
        self.row = row
        self.state = state
    }

    /// - Returns: nil if there is no such object.
    init?(_ className: String, _ key: ObjectKey, in state: ServerState) {
        guard let row = state.objects(named: className)[key] else { return nil }
        self.init(className, row, in: state)
    }

    var key: ObjectKey { row.key }

    private func property(_ name: String) -> (value: Value, target: String?)? {
        guard let declared = state.schema.classSchema(named: className), let index = declared.index(of: name) else {
            return nil
        }
        return (row.values[index], declared.properties[index].type.targetClass)
    }

    func text(_ name: String) -> String? {
        if case .string(let text)? = property(name)?.value { text } else { nil }
    }

    func int(_ name: String) -> Int64? { if case .int(let number)? = property(name)?.value { number } else { nil } }

    /// The objects that a property links to, without those that are not there.
    func targets(_ name: String) -> [RuledObject] {
        guard let (value, target) = property(name), let target else { return [] }
        return ServerState.links(value).compactMap { RuledObject(target, $0, in: state) }
    }

    /// How many links a property has, be the objects there or not.
    func linkCount(_ name: String) -> Int { property(name).map { ServerState.links($0.value).count } ?? 0 }

    func target(_ name: String) -> RuledObject? { targets(name).first }

    /// The value of a map at a key, if it is a link to an object that is there.
    func target(_ name: String, at mapKey: String) -> RuledObject? {
        guard let (value, target) = property(name), let target, case .map(let map) = value,
            let entry = map.entries.first(where: { $0.key == mapKey }), case .link(let key) = entry.value
        else { return nil }
        return RuledObject(target, key, in: state)
    }

    /// The objects of a class of which a property links to this object.
    func linking(_ className: String, _ name: String) -> [RuledObject] {
        guard let declared = state.schema.classSchema(named: className), let index = declared.index(of: name) else {
            return []
        }
        return state.objects(named: className).values
            .filter { ServerState.links($0.values[index]).contains(key) }
            .map { RuledObject(className, $0, in: state) }
    }
}
