import SluiceModel
import TestSupport

/// A condition of a simulation's rules: its text, which the product reads, and what it means, which the product does
/// not see.
///
/// The meaning is of Kleene's logic. A comparison with a variable that has no value is neither true nor false, and what
/// is not true allows nothing.
indirect enum RuleCondition: Sendable {
    case leaf(RuleLeaf)
    case not(RuleCondition)
    case and(RuleCondition, RuleCondition)
    case or([RuleCondition])

    static let always = RuleCondition.leaf(RuleLeaf(text: "TRUEPREDICATE") { _ in true })

    var text: String {
        switch self {
        case .leaf(let leaf): leaf.text
        case .not(let operand): "NOT (\(operand.text))"
        case .and(let left, let right): "((\(left.text)) AND (\(right.text)))"
        case .or(let operands): operands.map(\.text).joined(separator: " OR ")
        }
    }

    /// Whether the condition holds; nil if that depends on a variable without a value.
    func holds(_ subject: RuleSubject) -> Bool? {
        switch self {
        case .leaf(let leaf): return leaf.holds(subject)
        case .not(let operand): return operand.holds(subject).map { !$0 }
        case .and(let left, let right):
            let values = [left.holds(subject), right.holds(subject)]
            return values.contains(false) ? false : values.contains(nil) ? nil : true
        case .or(let operands):
            let values = operands.map { $0.holds(subject) }
            return values.contains(true) ? true : values.contains(nil) ? nil : false
        }
    }

    /// Makes a condition on the objects of a class.
    ///
    /// - Parameter breadth: the most operands of its OR.
    static func generate(for className: String, breadth: Int, _ generator: inout SeededGenerator) -> RuleCondition {
        let leaves = (RuleLeaf.ofClasses[className] ?? []) + RuleLeaf.ofUsers
        let operands = (0..<1 + generator.below(breadth)).map { _ -> RuleCondition in
            let leaf = RuleCondition.leaf(generator.pick(leaves))
            return switch generator.below(10) {
            case 0: .not(leaf)
            case 1: .and(leaf, .leaf(generator.pick(leaves)))
            case 2: .and(leaf, .not(.leaf(generator.pick(leaves))))
            default: leaf
            }
        }
        return operands.count == 1 ? operands[0] : .or(operands)
    }

    /// Makes a condition that most objects meet, until something changes.
    static func wide(for className: String, _ generator: inout SeededGenerator) -> RuleCondition {
        let leaves = RuleLeaf.ofClasses[className] ?? []
        let narrow = RuleCondition.leaf(generator.pick(leaves))
        let wide = RuleCondition.not(.leaf(generator.pick(leaves)))
        return switch generator.below(4) {
        case 0: wide
        case 1: .or([wide, narrow])
        case 2: .or([wide, .leaf(generator.pick(RuleLeaf.ofUsers))])
        default: .or([.leaf(generator.pick(RuleLeaf.ofUsers)), .and(wide, .not(narrow))])
        }
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

/// The smallest conditions.
struct RuleLeaf: Sendable {
    let text: String
    let holds: @Sendable (RuleSubject) -> Bool?

    init(text: String, _ holds: @escaping @Sendable (RuleSubject) -> Bool?) {
        self.text = text
        self.holds = holds
    }

    /// The file's derived sets and roles.
    static let sets = [
        ("employers", "Dealer WHERE ANY staff.id == $user.id"), ("circle", "User WHERE ANY friends.id == $user.id"),
        ("stock", "Car WHERE dealer IN $user.employers"),
    ]
    static let roles = [
        ("admin", "$user.claims.role == 'admin'"), ("senior", "User WHERE id == $user.id AND age > 5"),
        ("staff", "$role.admin OR ANY Dealer.staff.id == $user.id"),
    ]

    /// Conditions that look at no object.
    static let ofUsers = [
        RuleLeaf(text: "$role.admin") { $0.facts.isAdmin },
        RuleLeaf(text: "$role.senior") { $0.facts.isSenior },
        RuleLeaf(text: "$role.staff") { $0.facts.isStaff },
    ]

    static let ofClasses: [String: [RuleLeaf]] = [
        "User": [
            RuleLeaf(text: "id == $user.id") { $0.isUser($0.object) },
            RuleLeaf(text: "ANY friends.id == $user.id") { $0.isUser(oneOf: $0.object.targets("friends")) },
            RuleLeaf(text: "best.id == $user.id") { $0.isUser($0.object.target("best")) },
            RuleLeaf(text: "best.best.id == $user.id") { $0.isUser($0.object.target("best")?.target("best")) },
            RuleLeaf(text: "id IN $user.circle") { $0.facts.circle.contains($0.object.key) },
            RuleLeaf(text: "best IN $user.circle") { subject in
                subject.object.target("best").map { subject.facts.circle.contains($0.key) } ?? false
            },
            RuleLeaf(text: "age > 5") { $0.object.int("age") ?? 0 > 5 },
            RuleLeaf(text: "age < $user.claims.level") { subject in
                subject.identity.level.map { subject.object.int("age") ?? 0 < $0 }
            },
            RuleLeaf(text: "@links.Dealer.staff.@count > 0") { !$0.object.linking("Dealer", "staff").isEmpty },
            RuleLeaf(text: "NONE @links.Dealer.staff.city == 'a'") { subject in
                !subject.object.linking("Dealer", "staff").contains { $0.text("city") == "a" }
            },
        ],
        "Car": [
            RuleLeaf(text: "dealer IN $user.employers") { subject in
                subject.object.target("dealer").map { subject.facts.employers.contains($0.key) } ?? false
            },
            RuleLeaf(text: "ANY owners.id == $user.id") { $0.isUser(oneOf: $0.object.targets("owners")) },
            RuleLeaf(text: "ANY owners IN $user.circle") { subject in
                subject.object.targets("owners").contains { subject.facts.circle.contains($0.key) }
            },
            RuleLeaf(text: "dealer.city == 'a'") { $0.object.target("dealer")?.text("city") == "a" },
            RuleLeaf(text: "name == $user.claims.role") { subject in
                subject.identity.role.map { subject.object.text("name") == $0 }
            },
            RuleLeaf(text: "@links.Dealer.show.@count > 0") { !$0.object.linking("Dealer", "show").isEmpty },
            RuleLeaf(text: "ANY @links.Dealer.show.code == 'D1'") { subject in
                subject.object.linking("Dealer", "show").contains { $0.key == .string("D1") }
            },
            RuleLeaf(text: "dealer.@links.Car.dealer.@count > 1") { subject in
                subject.object.target("dealer")?.linking("Car", "dealer").count ?? 0 > 1
            },
            RuleLeaf(text: "SUBQUERY(owners, $o, $o.age > 5 AND $o.best.id == $user.id).@count > 0") { subject in
                subject.identity.user.map { user in
                    subject.object.targets("owners").contains {
                        $0.int("age") ?? 0 > 5 && $0.target("best")?.key == .int(user)
                    }
                }
            },
        ],
        "Dealer": [
            RuleLeaf(text: "ANY staff.id == $user.id") { $0.isUser(oneOf: $0.object.targets("staff")) },
            RuleLeaf(text: "NONE staff.id == $user.id") { subject in
                subject.isUser(oneOf: subject.object.targets("staff")).map { !$0 }
            },
            RuleLeaf(text: "code IN $user.employers") { $0.facts.employers.contains($0.object.key) },
            RuleLeaf(text: "city == 'b'") { $0.object.text("city") == "b" },
            RuleLeaf(text: "ANY staff.best.id == $user.id") { subject in
                subject.isUser(oneOf: subject.object.targets("staff").compactMap { $0.target("best") })
            },
            RuleLeaf(text: "staff.@count > 1") { $0.object.linkCount("staff") > 1 },
            RuleLeaf(text: "@links.Car.dealer.@count > 0") { !$0.object.linking("Car", "dealer").isEmpty },
            RuleLeaf(text: "show.k0 IN $user.stock") { subject in
                subject.object.target("show", at: "k0").map { subject.facts.stock.contains($0.key) } ?? false
            },
        ],
        "Note": [
            RuleLeaf(text: "text == 'a'") { $0.object.text("text") == "a" },
            RuleLeaf(text: "parent == NULL") { $0.object.target("parent") == nil },
            RuleLeaf(text: "parent.text == 'b'") { $0.object.target("parent")?.text("text") == "b" },
            RuleLeaf(text: "parent.parent.text == 'a'") {
                $0.object.target("parent")?.target("parent")?.text("text") == "a"
            },
            RuleLeaf(text: "@links.Note.parent.@count > 0") { !$0.object.linking("Note", "parent").isEmpty },
            RuleLeaf(text: "SUBQUERY(@links.Note.parent, $n, $n.text == 'a').@count > 0") { subject in
                subject.object.linking("Note", "parent").contains { $0.text("text") == "a" }
            },
            RuleLeaf(text: "text == $user.claims.role") { subject in
                subject.identity.role.map { subject.object.text("text") == $0 }
            },
        ],
    ]
}
