import SluiceJSON
import SluiceModel
import TestSupport

@testable import SluiceRules

/// A rule as text, and what it says of an object read naively: nil if a variable without a value decides.
indirect enum GeneratedRule: Sendable {
    case leaf(String, @Sendable (RulesWorld, RuleUser, Row) throws -> Bool?)
    case not(GeneratedRule)
    case and(GeneratedRule, GeneratedRule)
    case or(GeneratedRule, GeneratedRule)

    var text: String {
        switch self {
        case .leaf(let text, _): text
        case .not(let operand): "NOT (\(operand.text))"
        case .and(let left, let right): "(\(left.text)) AND (\(right.text))"
        case .or(let left, let right): "(\(left.text)) OR (\(right.text))"
        }
    }

    /// Kleene's logic: what is not known stays so unless the rest decides.
    func holds(_ world: RulesWorld, _ user: RuleUser, _ row: Row) throws -> Bool? {
        switch self {
        case .leaf(_, let judge): return try judge(world, user, row)
        case .not(let operand): return try operand.holds(world, user, row).map { !$0 }
        case .and(let left, let right):
            let (left, right) = (try left.holds(world, user, row), try right.holds(world, user, row))
            return left == false || right == false ? false : left == nil || right == nil ? nil : true
        case .or(let left, let right):
            let (left, right) = (try left.holds(world, user, row), try right.holds(world, user, row))
            return left == true || right == true ? true : left == nil || right == nil ? nil : false
        }
    }
}

extension GeneratedRule {
    private static func value(_ row: Row, _ className: String, _ property: String) -> Value {
        row.values[RulesWorld.schema[RulesWorld.index(className)].index(of: property) ?? 0]
    }

    /// The object that a link leads to, if it is there.
    private static func target(_ row: Row, _ property: String, _ className: String, _ world: RulesWorld) -> Row? {
        guard case .link(let key) = value(row, "Document", property) else { return nil }
        return world.rows[ObjectRef(RulesWorld.index(className), key)]
    }

    private static func elements(_ value: Value) -> [Value] {
        switch value {
        case .list(let elements), .set(let elements): elements
        default: []
        }
    }

    private static func isMember(_ user: RuleUser, of team: Row?, _ world: RulesWorld) -> Bool {
        guard let team, let id = user.id else { return false }
        return elements(value(team, "Team", "members")).contains(.link(.string(id)))
            && world.rows[ObjectRef(RulesWorld.index("User"), .string(id))] != nil
    }

    private static func salary(_ row: Row) -> Int64 {
        if case .int(let number) = value(row, "Document", "salary") { number } else { 0 }
    }

    private static func channels(_ user: RuleUser) -> [String]? {
        user.claims["channels"]?.array?.compactMap(\.string)
    }

    static let leaves: [GeneratedRule] = [
        .leaf("public == TRUE") { _, _, row in value(row, "Document", "public") == .bool(true) },
        .leaf("owner.id == $user.id") { world, user, row in
            guard let id = user.id else { return nil }
            return target(row, "owner", "User", world)?.key == .string(id)
        },
        .leaf("owner.id != $user.id") { world, user, row in
            guard let id = user.id else { return nil }
            return target(row, "owner", "User", world)?.key != .string(id)
        },
        .leaf("salary > $user.claims.level") { _, user, row in
            guard case .integer(let level) = user.claims["level"] else { return nil }
            return salary(row) > level
        },
        .leaf("salary + 1 == $user.claims.level") { _, user, row in
            guard case .integer(let level) = user.claims["level"] else { return nil }
            return salary(row) + 1 == level
        },
        .leaf("team IN $user.teams") { world, user, row in
            isMember(user, of: target(row, "team", "Team", world), world)
        },
        .leaf("ANY team.members.id == $user.id") { world, user, row in
            user.id == nil ? nil : isMember(user, of: target(row, "team", "Team", world), world)
        },
        .leaf("SUBQUERY(team.members, $m, $m.id == $user.id).@count == 0") { world, user, row in
            user.id == nil ? nil : !isMember(user, of: target(row, "team", "Team", world), world)
        },
        .leaf("SUBQUERY(team.members, $m, $user.id == NULL OR $m.id == $user.id).@count > 0") { world, user, row in
            user.id == nil ? nil : isMember(user, of: target(row, "team", "Team", world), world)
        },
        .leaf("$role.admin") { _, user, _ in user.claims["role"]?.string == "admin" },
        .leaf("$role.member") { world, user, _ in
            world.rows.contains { $0.key.classIndex == RulesWorld.index("Team") && isMember(user, of: $0.value, world) }
        },
        .leaf("$role.outsider") { world, user, _ in
            user.claims["role"]?.string == "admin"
                ? false
                : !world.rows.contains {
                    $0.key.classIndex == RulesWorld.index("Team") && isMember(user, of: $0.value, world)
                }
        },
        .leaf("$user.id == NULL") { _, user, _ in user.id == nil },
        .leaf("$user.claims.level != NULL") { _, user, _ in user.claims["level"] != nil },
        .leaf("ANY channels IN $user.claims.channels") { _, user, row in
            guard let known = channels(user) else { return nil }
            return elements(value(row, "Document", "channels")).contains { channel in
                known.contains { .string($0) == channel }
            }
        },
        .leaf("ALL channels IN $user.claims.channels") { _, user, row in
            guard let known = channels(user) else { return nil }
            return elements(value(row, "Document", "channels")).allSatisfy { channel in
                known.contains { .string($0) == channel }
            }
        },
        .leaf("'a' IN $user.claims.channels") { _, user, _ in channels(user)?.contains("a") },
        .leaf("$user.claims.role IN {'admin', 'clerk'}") { _, user, _ in
            user.claims["role"]?.string.map { $0 == "admin" || $0 == "clerk" }
        },
        .leaf("id BEGINSWITH $user.claims.role") { _, user, row in
            user.claims["role"]?.string.map { row.key.description.hasPrefix($0) }
        },
    ]

    static func make(_ depth: Int, _ random: inout SeededGenerator) -> GeneratedRule {
        guard depth > 0, !random.chance(25) else { return random.pick(leaves) }
        switch Int.random(in: 0..<3, using: &random) {
        case 0: return .not(make(depth - 1, &random))
        case 1: return .and(make(depth - 1, &random), make(depth - 1, &random))
        default: return .or(make(depth - 1, &random), make(depth - 1, &random))
        }
    }
}

extension RulesWorld {
    /// A world of few users, teams and documents, some of whose links lead nowhere.
    static func random(_ random: inout SeededGenerator) -> RulesWorld {
        let world = RulesWorld()
        for name in ["ada", "bob"] { world.add("User", .string(name)) }
        for number in 0..<3 {
            let members = ["ada", "bob", "gone"].filter { _ in random.chance(40) }
            world.add(
                "Team", .string("T\(number)"), ["members": .list(members.map { .link(.string($0)) })])
        }
        for number in 0..<12 {
            let channels = ["a", "b", "c"].filter { _ in random.chance(40) }
            let names: [Value] = [.null, .link(.string("ada")), .link(.string("bob")), .link(.string("gone"))]
            world.add(
                "Document", .string("\(random.pick(["admin", "d"]))\(number)"),
                [
                    "public": .bool(random.chance(30)), "owner": random.pick(names),
                    "team": random.pick([.null, .link(.string("T0")), .link(.string("T1")), .link(.string("T9"))]),
                    "salary": .int(Int64.random(in: 0...5, using: &random)),
                    "channels": .list(channels.map { .string($0) }),
                ])
        }
        return world
    }
}
