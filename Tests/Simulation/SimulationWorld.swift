import FoundationEssentials
import SluiceModel
import TestSupport

/// The classes, values and queries of a simulation. They contain every kind of link, cycles, lists, and classes with
/// and without a primary key.
struct SimulationWorld {
    /// The last version of the program.
    static let versionMax = 2

    /// The classes as a version of the program declares them. Later versions rename properties and give them wider
    /// types, all so that queries, which go by the first names, find the same objects.
    ///
    /// - Parameters:
    ///   - readsTime: whether some have dates.
    ///   - hasJobs: whether there are those of jobs, too.
    private static func classes(version: Int, readsTime: Bool, hasJobs: Bool) throws -> [ClassSchema] {
        let seen =
            switch version {
            case 0: Property("views", .scalar(.int))
            case 1: Property("seen", .scalar(.double), was: ["views"])
            default: Property("sights", .scalar(.double, isOptional: true), was: ["seen", "views"])
            }
        let label =
            version < 2
            ? Property("name", .scalar(.string), isIndexed: true)
            : Property("label", .scalar(.string), isIndexed: true, was: ["name"])
        let rank = PropertyType.scalar(version < 1 ? .int : .decimal, isOptional: true)
        let tags = PropertyType(.scalar(.string), container: .list, isOptional: version > 1)
        let date = PropertyType.scalar(.date, isOptional: true)
        let (since, due) = readsTime ? ([Property("since", date)], [Property("due", date)]) : ([], [])
        let mark = version < 1 ? [] : [Property("mark", .scalar(.string), default: .string("b"))]
        return [
            try ClassSchema(
                "User", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), label,
                    Property("age", .scalar(.int)), Property("friends", .links("User")),
                    Property("best", .link("User")),
                ] + since),
            try ClassSchema(
                "Car",
                properties: [
                    Property("name", .scalar(.string), default: .string("Toyota")),
                    Property("price", .scalar(.double, isOptional: true), isIndexed: true),
                    seen, Property("tags", tags),
                    Property("owners", .links("User")), Property("dealer", .link("Dealer")),
                ]),
            try ClassSchema(
                "Dealer", primaryKey: "code",
                properties: [
                    Property("code", .scalar(.string)),
                    Property("city", .scalar(.string, isOptional: version > 0)),
                    Property("staff", PropertyType(.link("User"), container: .set)),
                    Property("show", PropertyType(.link("Car"), container: .map)),
                ]),
            try ClassSchema(
                "Note",
                properties: [
                    Property("text", .scalar(.string)), Property("rank", rank),
                    Property("parent", .link("Note")),
                ] + due + mark),
        ] + (hasJobs ? try JobWorld.classes(readsTime: readsTime) : [])
    }

    /// The schema that one client declares: the same classes, in an order that depends on the client.
    static func schema(ofClient client: Int, version: Int, options: SimulationOptions) throws -> Schema {
        if options.lastClientLearnsSchema, client == options.clientCount - 1 { return Schema() }
        if client >= options.clientCount - options.limitedClientCount { return Schema() }
        let all = try classes(version: version, readsTime: options.readsTime, hasJobs: options.hasJobs)
        return try Schema(
            all.indices.map { index in
                let declared = all[(index + client) % all.count]
                guard client % 2 == 1 else { return declared }
                return try ClassSchema(
                    declared.name, primaryKey: declared.primaryKey, properties: declared.properties.reversed())
            })
    }

    // MARK: Objects and values

    /// When a simulation begins. Dates are within the first seconds.
    static let startTime = Timestamp(microseconds: 1_700_000_000_000_000)

    private static let userCount = 7
    private static let dealerCount = 4
    private static let keylessCount = 5

    /// Picks the key of an object of a class; the object may or may not exist.
    static func key(ofClass name: String, clientCount: Int, _ generator: inout SeededGenerator) -> ObjectKey {
        switch name {
        case "User": .int(Int64(generator.below(userCount)))
        case "Dealer": .string("D\(generator.below(dealerCount))")
        case "Task": JobWorld.taskKey(&generator)
        default: keylessKey(ofClass: name, client: generator.below(clientCount), 1 + generator.below(keylessCount))
        }
    }

    /// The key of the `number`-th object of a keyless class that a client creates.
    static func keylessKey(ofClass name: String, client: Int, _ number: Int) -> ObjectKey {
        .id(ObjectID(high: UInt64(name == "Car" ? 1000 : 2000) + UInt64(client), low: UInt64(number)))
    }

    /// The key of the `number`-th object that is created with others at once.
    static func importedKey(ofClass name: String, _ number: Int) -> ObjectKey {
        switch name {
        case "User": .int(Int64(100 + number))
        case "Dealer": .string("E\(100 + number)")
        case "Task": .string("U\(100 + number)")
        default: .id(ObjectID(high: UInt64(name == "Car" ? 3000 : 4000), low: UInt64(number)))
        }
    }

    static func hasWrittenClass(_ schema: Schema) -> Bool { schema.classes.contains { JobWorld.isWritten($0.name) } }

    /// Picks a class of which clients write objects; nil if there is none.
    static func writtenClass(_ schema: Schema, _ generator: inout SeededGenerator) -> Int? {
        let written = schema.classes.indices.filter { JobWorld.isWritten(schema[$0].name) }
        return written.isEmpty ? nil : written[generator.below(written.count)]
    }

    /// Picks a value for a property.
    static func value(_ property: Property, clientCount: Int, _ generator: inout SeededGenerator) -> Value {
        func elements(_ generator: inout SeededGenerator) -> [Value] {
            (0..<generator.pick([0, 0, 1, 1, 2, 3])).map { _ in
                element(property.type, isSingle: false, clientCount, &generator)
            }
        }
        // Most tasks are to be done.
        if property.name == "done" { return .int(generator.chance(80) ? 0 : 1) }
        switch property.type.container {
        case .single: return element(property.type, isSingle: true, clientCount, &generator)
        case .list: return .list(elements(&generator))
        case .set: return .set(of: elements(&generator))
        case .map: return .map(ValueMap(elements(&generator).enumerated().map { ("k\($0.offset)", $0.element) }))
        }
    }

    private static func element(
        _ type: PropertyType, isSingle: Bool, _ clientCount: Int, _ generator: inout SeededGenerator
    ) -> Value {
        if isSingle, type.isOptional, generator.chance(25) { return .null }
        switch type.element {
        case .link(let name): return .link(key(ofClass: name, clientCount: clientCount, &generator))
        case .scalar(.int): return .int(Int64(generator.below(10)))
        case .scalar(.decimal): return .decimal(Decimal(generator.below(10)))
        case .scalar(.date): return .date(startTime.advanced(by: Int64(generator.below(48)) * 250_000))
        case .scalar(.double): return .double(generator.chance(3) ? .nan : Double(generator.below(10)))
        case .scalar: return .string(generator.pick(["a", "b", "c", "d", "A", "é"]))
        }
    }

    // MARK: Queries

    private struct Clauses {
        let predicates: [String]
        let sorts: [String]
        /// Paths for DISTINCT.
        let groups: [String]
        let exclusions: [String]
    }

    private static let clauses: [(name: String, Clauses)] = [
        (
            "User",
            Clauses(
                predicates: [
                    "TRUEPREDICATE", "age > 5", "name == 'a'", "best.age > 5", "ANY friends.age > 7", "best == NULL",
                    "best.best.name == 'b'", "friends.@count > 1", "NOT age > 5 AND best.name != 'c'",
                    "best.name == NULL", "ANY friends.best.age < 3", "id < 3", "age > 3 OR ANY friends.name == 'd'",
                    "name ==[c] 'A'", "age BETWEEN {2, 6}", "age * 2 - 3 > 5", "age / (id - 2) == 1",
                    "friends.@sum.age > 8", "friends.@avg.age < 5", "best.friends.@max.age == 7",
                    "SUBQUERY(friends, $f, $f.age > 5 AND $f.best.age < 8).@count > 0",
                    "SUBQUERY(friends, $f, $f.age > best.age).@count >= 1", "@links.Car.owners.@count > 0",
                    "ANY @links.User.best.age > 6", "NONE @links.User.friends.name == 'a'",
                    "@links.Car.owners.@sum.price > 5", "@links.@count > 2",
                    "SUBQUERY(@links.User.best, $u, $u.age + 1 > age).@count > 0", "best.@links.User.best.@count > 1",
                    "@links.Dealer.staff.show.k0.price > 3", "friends[0].age > 4", "friends[LAST].best == NULL",
                    "ANY friends.age > ANY best.friends.age", "friends == best.friends", "age > friends.@count + 3",
                ],
                sorts: [
                    "age ASC", "best.age DESC", "friends.@sum.age DESC", "name DESC, age ASC",
                    "best.best.age ASC, name ASC", "id DESC",
                ],
                groups: ["name", "best", "best.age", "friends.@count"],
                exclusions: [
                    "friends", "best", "friends, best", "friends.friends", "friends.best, best.friends", "name",
                    "friends.age, best.name", "friends.friends.friends, best.best", "age, friends.name, best",
                ])
        ),
        (
            "Car",
            Clauses(
                predicates: [
                    "TRUEPREDICATE", "price > 4", "dealer.city == 'a'", "ANY owners.age > 6", "dealer == NULL",
                    "name IN {'a', 'b'} AND dealer.city != 'b'", "ANY owners.best.name == 'a'", "price == NULL",
                    "ANY tags == 'a'", "views < 3 AND price <= 8", "name BEGINSWITH 'T'", "price + views > 8",
                    "owners.@sum.age > 7 AND owners.@min.age < 5", "tags == {'a'}", "tags[0] == 'b'",
                    "@links.Dealer.show.@count == 1", "ANY @links.Dealer.show.city == 'a'",
                    "dealer.@links.Car.dealer.@max.price == price", "dealer.show.k0.price > 2",
                    "SUBQUERY(owners.friends, $f, $f.@links.Car.owners.@count > 0).@count > 1",
                ],
                sorts: ["price ASC", "dealer.city DESC, name ASC", "name ASC", "views DESC, price DESC"],
                groups: ["name", "dealer", "price", "owners.@count"],
                exclusions: [
                    "owners", "dealer", "owners.friends", "owners, dealer.staff", "dealer.show",
                    "dealer.show.owners, tags", "dealer.show.dealer, owners.best, dealer.staff.friends",
                ])
        ),
        (
            "Dealer",
            Clauses(
                predicates: [
                    "TRUEPREDICATE", "city == 'b'", "ANY staff.age > 5", "staff.@count > 0", "staff.@avg.age > 4",
                    "@links.Car.dealer.@count > 1", "@links.Car.dealer.@sum.price >= 6", "show['k0'].price > 4",
                    "SUBQUERY(staff, $s, ANY $s.@links.Car.owners.dealer == NULL).@count > 0",
                ],
                sorts: ["city ASC", "code DESC"],
                groups: ["city"],
                exclusions: ["staff", "show", "show.dealer", "staff.friends, show.owners", "show.owners.best"])
        ),
        (
            "Note",
            Clauses(
                predicates: [
                    "TRUEPREDICATE", "rank > 4", "parent.rank > 4", "parent == NULL", "parent.parent.text == 'a'",
                    "@links.Note.parent.@count > 0", "ANY @links.Note.parent.@links.Note.parent.rank > 2",
                    "rank - parent.rank > 0", "rank * 2 >= parent.rank + 4",
                ],
                sorts: ["rank DESC", "parent.rank ASC, text ASC", "text ASC"],
                groups: ["rank", "parent.rank", "parent"],
                exclusions: ["parent", "parent.parent", "parent.text"])
        ),
    ]

    /// What queries with AGGREGATE compute.
    private static let functions = [
        "User": [
            "@count", "@sum.age", "@avg.age", "@max.age", "@min.best.age", "@sum.friends.@count", "@max.since",
            "@avg.best.best.age",
        ],
        "Car": ["@count", "@sum.price", "@avg.price", "@max.price", "@min.views", "@sum.owners.@sum.age"],
        "Dealer": ["@count", "@sum.staff.@count"],
        "Note": ["@count", "@avg.rank", "@min.rank", "@sum.parent.rank", "@max.due"],
    ]

    /// Makes AGGREGATE, most often with GROUP, SORT and LIMIT. Some groups are refused.
    private static func figures(
        _ functions: [String], _ groups: [String], _ generator: inout SeededGenerator
    ) -> String {
        let computed = (0..<generator.pick([1, 1, 2, 3])).map { _ in generator.pick(functions) }
        let text = " AGGREGATE(\(computed.joined(separator: ", ")))"
        guard generator.chance(65) else { return text }
        let group = generator.pick(groups)
        var clauses = " GROUP(\(group))\(text)"
        if generator.chance(50) {
            clauses += " SORT(\(generator.pick([group, computed[0]])) \(generator.pick(["ASC", "DESC"])))"
        }
        if generator.chance(40) { clauses += " LIMIT(\(generator.pick([1, 2, 3])))" }
        return clauses
    }

    /// Conditions with `$now`, for classes that have dates.
    private static let timedPredicates = [
        "User": [
            "since < $now", "since > $now", "NOT since <= $now - 1s", "ANY friends.since < $now",
            "best.since <= $now AND age > 3", "ALL friends.since > $now + 500ms", "age > 5 OR since < $now",
            "SUBQUERY(friends, $f, $f.since < $now AND $f.age > 2).@count > 0", "since BETWEEN {$now - 2s, $now + 1s}",
            "ANY @links.User.best.since < $now", "SUBQUERY(@links.User.friends, $u, $u.since > $now).@count == 1",
        ],
        "Car": ["ANY owners.since < $now", "price > 3 AND ANY owners.since > $now - 1s"],
        "Note": [
            "due < $now", "due >= $now", "due <= $now AND rank > 2", "parent.due < $now",
            "parent.due < $now OR rank > 6",
            "due > $now - 2s AND due <= $now", "NOT parent.parent.due < $now",
            "SUBQUERY(@links.Note.parent, $n, $n.due < $now).@count > 0",
        ],
    ]

    /// Makes the conditions that say what a client may read: for some classes none, for some that nothing is readable.
    static func conditions(_ generator: inout SeededGenerator) -> [String] {
        clauses.compactMap { name, clauses in
            guard generator.chance(60) else { return nil }
            let predicate = generator.chance(10) ? "FALSEPREDICATE" : generator.pick(clauses.predicates)
            return "\(name) WHERE \(predicate)"
        }
    }

    /// A place in an order, by values that objects may have, and the key of one.
    private static func place(in sort: String, _ key: ObjectKey, _ generator: inout SeededGenerator) -> String {
        var values = sort.split(separator: ",").map { part in
            let path = part.drop { $0 == " " }.prefix { $0 != " " }
            return switch path.split(separator: ".").last {
            case "name", "city", "text": generator.pick(["'a'", "'b'", "NULL"])
            case "code": "'\(generator.pick(["D0", "D1"]))'"
            default: "\(generator.below(10))"
            }
        }
        switch key {
        case .int(let number): values.append("\(number)")
        case .string(let text): values.append("'\(text)'")
        case .uuid, .id: values.append("oid(\(key.value))")
        }
        return " \(generator.pick(["AFTER", "BEFORE"]))(\(values.joined(separator: ", ")))"
    }

    /// The text of a query that asks for more of the same first results; nil if it has not one limit.
    static func grown(_ text: String) -> String? {
        let parts = text.split(separator: " LIMIT(", omittingEmptySubsequences: false)
        guard parts.count == 2, let limit = Int(parts[1].prefix { $0 != ")" }) else { return nil }
        return "\(parts[0]) LIMIT(\(limit + 4)\(parts[1].drop { $0 != ")" })"
    }

    /// Makes the text of a query. Some combinations are not valid queries.
    static func queryText(
        clientCount: Int, readsTime: Bool = false, _ generator: inout SeededGenerator
    ) -> String {
        let (name, clauses) = generator.pick(clauses)
        if generator.chance(10) {
            let identity = Identity(className: name, key: key(ofClass: name, clientCount: clientCount, &generator))
            return "OBJECT(\(identity.objectID))"
        }
        var text = "\(name) WHERE \(generator.pick(clauses.predicates))"
        if readsTime, let timed = timedPredicates[name], generator.chance(70) {
            text = "\(name) WHERE \(generator.pick(timed))"
        }
        if generator.chance(20), let functions = functions[name] {
            return text + figures(functions, clauses.groups, &generator)
        }
        if generator.chance(40) {
            let sort = generator.pick(clauses.sorts)
            text += " SORT(\(sort))"
            if generator.chance(20) {
                text += place(in: sort, key(ofClass: name, clientCount: clientCount, &generator), &generator)
            }
        }
        if generator.chance(20) { text += " DISTINCT(\(generator.pick(clauses.groups)))" }
        if generator.chance(50) { text += " LIMIT(\(generator.pick([0, 1, 2, 3, 5, 8])))" }
        if generator.chance(15) { text += " SORT(\(generator.pick(clauses.sorts)))" }
        if generator.chance(5) { text += " LIMIT(\(generator.pick([1, 2, 3])))" }
        if generator.chance(60) { text += " EXCLUDE(\(generator.pick(clauses.exclusions)))" }
        if generator.chance(25) { text += " TOTAL" }
        return text
    }
}
