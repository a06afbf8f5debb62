import SluiceModel
import TestSupport

/// What the conditions of a simulation's rules are made of.
enum RuleLeaves {
    typealias Leaf = RuleLeaf<RuleSubject>

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
    static let ofUsers: [Leaf] = [
        Leaf("$role.admin") { $0.facts.isAdmin },
        Leaf("$role.senior") { $0.facts.isSenior },
        Leaf("$role.staff") { $0.facts.isStaff },
    ]

    static let ofClasses: [String: [Leaf]] = [
        "User": [
            Leaf("id == $user.id") { $0.isUser($0.object) },
            Leaf("ANY friends.id == $user.id") { $0.isUser(oneOf: $0.object.targets("friends")) },
            Leaf("best.id == $user.id") { $0.isUser($0.object.target("best")) },
            Leaf("best.best.id == $user.id") { $0.isUser($0.object.target("best")?.target("best")) },
            Leaf("id IN $user.circle") { $0.facts.circle.contains($0.object.key) },
            Leaf("best IN $user.circle") { subject in
                subject.object.target("best").map { subject.facts.circle.contains($0.key) } ?? false
            },
            Leaf("age > 5") { $0.object.int("age") ?? 0 > 5 },
            Leaf("age < $user.claims.level") { subject in
                subject.identity.level.map { subject.object.int("age") ?? 0 < $0 }
            },
            Leaf("@links.Dealer.staff.@count > 0") { !$0.object.linking("Dealer", "staff").isEmpty },
            Leaf("NONE @links.Dealer.staff.city == 'a'") { subject in
                !subject.object.linking("Dealer", "staff").contains { $0.text("city") == "a" }
            },
        ],
        "Car": [
            Leaf("dealer IN $user.employers") { subject in
                subject.object.target("dealer").map { subject.facts.employers.contains($0.key) } ?? false
            },
            Leaf("ANY owners.id == $user.id") { $0.isUser(oneOf: $0.object.targets("owners")) },
            Leaf("ANY owners IN $user.circle") { subject in
                subject.object.targets("owners").contains { subject.facts.circle.contains($0.key) }
            },
            Leaf("dealer.city == 'a'") { $0.object.target("dealer")?.text("city") == "a" },
            Leaf("name == $user.claims.role") { subject in
                subject.identity.role.map { subject.object.text("name") == $0 }
            },
            Leaf("@links.Dealer.show.@count > 0") { !$0.object.linking("Dealer", "show").isEmpty },
            Leaf("ANY @links.Dealer.show.code == 'D1'") { subject in
                subject.object.linking("Dealer", "show").contains { $0.key == .string("D1") }
            },
            Leaf("dealer.@links.Car.dealer.@count > 1") { subject in
                subject.object.target("dealer")?.linking("Car", "dealer").count ?? 0 > 1
            },
            Leaf("SUBQUERY(owners, $o, $o.age > 5 AND $o.best.id == $user.id).@count > 0") { subject in
                subject.identity.user.map { user in
                    subject.object.targets("owners").contains {
                        $0.int("age") ?? 0 > 5 && $0.target("best")?.key == .int(user)
                    }
                }
            },
        ],
        "Dealer": [
            Leaf("ANY staff.id == $user.id") { $0.isUser(oneOf: $0.object.targets("staff")) },
            Leaf("NONE staff.id == $user.id") { subject in
                subject.isUser(oneOf: subject.object.targets("staff")).map { !$0 }
            },
            Leaf("code IN $user.employers") { $0.facts.employers.contains($0.object.key) },
            Leaf("city == 'b'") { $0.object.text("city") == "b" },
            Leaf("ANY staff.best.id == $user.id") { subject in
                subject.isUser(oneOf: subject.object.targets("staff").compactMap { $0.target("best") })
            },
            Leaf("staff.@count > 1") { $0.object.linkCount("staff") > 1 },
            Leaf("@links.Car.dealer.@count > 0") { !$0.object.linking("Car", "dealer").isEmpty },
            Leaf("show.k0 IN $user.stock") { subject in
                subject.object.target("show", at: "k0").map { subject.facts.stock.contains($0.key) } ?? false
            },
        ],
        "Note": [
            Leaf("text == 'a'") { $0.object.text("text") == "a" },
            Leaf("parent == NULL") { $0.object.target("parent") == nil },
            Leaf("parent.text == 'b'") { $0.object.target("parent")?.text("text") == "b" },
            Leaf("parent.parent.text == 'a'") {
                $0.object.target("parent")?.target("parent")?.text("text") == "a"
            },
            Leaf("@links.Note.parent.@count > 0") { !$0.object.linking("Note", "parent").isEmpty },
            Leaf("SUBQUERY(@links.Note.parent, $n, $n.text == 'a').@count > 0") { subject in
                subject.object.linking("Note", "parent").contains { $0.text("text") == "a" }
            },
            Leaf("text == $user.claims.role") { subject in
                subject.identity.role.map { subject.object.text("text") == $0 }
            },
        ],
    ]
}
