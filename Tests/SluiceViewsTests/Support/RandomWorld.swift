import SluiceModel
import SluiceQuery
import TestSupport

@testable import SluiceViews

/// Random objects, commit groups and queries over the test schema.
struct RandomWorld {
    var generator: SeededGenerator
    /// How many objects of a class may exist; few, so that links lead to objects, to ghosts and in cycles.
    let keyCount: Int
    /// The classes whose objects are created and changed.
    let classes: [Int]

    init(seed: UInt64, keyCount: Int, classes: [Int] = Array(TestSchema.schema.classes.indices)) {
        generator = SeededGenerator(seed: seed)
        self.keyCount = keyCount
        self.classes = classes
    }

    mutating func object(ofClass classIndex: Int? = nil) -> ObjectRef {
        let classIndex = classIndex ?? generator.pick(classes)
        return TestSchema.object(Int.random(in: 0..<keyCount, using: &generator), ofClass: classIndex)
    }

    mutating func row(for object: ObjectRef) -> Row {
        var row = TestSchema.row(object)
        for property in row.values.indices where property != TestSchema.schema[object.classIndex].primaryKeyIndex {
            row.values[property] = value(property, of: object.classIndex)
        }
        return row
    }

    mutating func value(_ property: Int, of classIndex: Int) -> Value {
        let type = TestSchema.schema[classIndex].properties[property].type
        switch type.container {
        case .single: return element(type)
        case .list: return .list(elements(type))
        case .set: return .set(of: elements(type))
        case .map: return .map(ValueMap(elements(type).enumerated().map { ("k\($0)", $1) }))
        }
    }

    private mutating func elements(_ type: PropertyType) -> [Value] {
        (0..<generator.pick([0, 0, 1, 1, 2, 3])).map { _ in element(type, allowsNull: false) }
    }

    private mutating func element(_ type: PropertyType, allowsNull: Bool = true) -> Value {
        if type.isOptional, allowsNull, generator.chance(25) { return .null }
        switch type.element {
        case .link(let name): return .link(object(ofClass: TestSchema.schema.index(of: name)).key)
        case .scalar(.int): return .int(Int64.random(in: 0..<10, using: &generator))
        case .scalar(.date): return .date(Timestamp(microseconds: Int64.random(in: 0..<40, using: &generator)))
        case .scalar(.double): return .double(Double(Int.random(in: 0..<10, using: &generator)))
        case .scalar: return .string(generator.pick(["a", "b", "c", "d"]))
        }
    }

    /// Makes a group of changes; it may change an object several times.
    mutating func edits(in source: MemorySource) -> [(ObjectRef, Row?)] {
        let count = generator.chance(5) ? 4 * keyCount : Int.random(in: 1...5, using: &generator)
        var pending: [ObjectRef: Row?] = [:]
        return (0..<count).map { _ in
            let object = object()
            var row = pending[object] ?? source.row(object)
            if row == nil || generator.chance(5) {
                row = self.row(for: object)
            } else if generator.chance(20) {
                row = nil
            } else {
                let declared = TestSchema.schema[object.classIndex]
                let property = Int.random(in: 0..<declared.properties.count, using: &generator)
                if property != declared.primaryKeyIndex {
                    row?.values[property] = value(property, of: object.classIndex)
                }
            }
            pending.updateValue(row, forKey: object)
            return (object, row)
        }
    }

    /// A place in an order, by values that objects may have, and the key of one.
    private mutating func place(in sort: String, ofClass name: String) -> String {
        func value(_ last: Substring?) -> String {
            switch last {
            case "name", "city", "carrier": generator.pick(["'a'", "'b'", "NULL"])
            case "code": generator.pick(["'d1'", "'d3'"])
            default: "\(generator.pick([1, 3, 5, 8]))"
            }
        }
        var values = sort.split(separator: ",").map { part in
            value(part.drop { $0 == " " }.prefix { $0 != " " }.split(separator: ".").last)
        }
        let schema = TestSchema.schema
        let declared = schema.index(of: name).map { schema[$0] }
        switch declared?.keyType {
        case .string: values.append("'\(generator.pick(["d1", "c2", "a"]))'")
        case .objectID, nil: values.append("oid(\(ObjectID(high: 1, low: 3)))")
        default: values.append("\(generator.pick([1, 3, 5, 8]))")
        }
        return " \(generator.pick(["AFTER", "BEFORE"]))(\(values.joined(separator: ", ")))"
    }

    /// Makes the text of a query. Some combinations are not valid queries.
    ///
    /// - Parameter readsTime: whether some conditions have `$now`.
    mutating func queryText(readsTime: Bool = false) -> String {
        var name = generator.pick(Array(Self.predicates.keys).sorted())
        if generator.chance(30) || classes == [TestSchema.user] { name = "User" }
        var text = "\(name) WHERE \(generator.pick(Self.predicates[name]!))"
        if readsTime, let timed = Self.timedPredicates[name], generator.chance(50) {
            let condition = generator.pick(timed)
            text = generator.chance(60) ? "\(name) WHERE \(condition)" : "\(text) AND (\(condition))"
        }
        if generator.chance(20) { return text + figures(of: name) }
        if generator.chance(40) {
            let sort = generator.pick(Self.sorts[name]!)
            text += " SORT(\(sort))"
            if generator.chance(25) { text += place(in: sort, ofClass: name) }
        }
        if generator.chance(15) { text += " DISTINCT(\(generator.pick(Self.groups[name]!)))" }
        if generator.chance(50) { text += " LIMIT(\(generator.pick([0, 1, 2, 3, 5, 8, 20])))" }
        if generator.chance(15) { text += " SORT(\(generator.pick(Self.sorts[name]!)))" }
        if generator.chance(5) { text += " LIMIT(\(generator.pick([1, 2, 3])))" }
        if generator.chance(60) { text += " EXCLUDE(\(generator.pick(Self.exclusions[name]!)))" }
        if generator.chance(25) { text += " TOTAL" }
        return text
    }

    /// Makes AGGREGATE, most often with GROUP.
    private mutating func figures(of name: String) -> String {
        let functions = (0..<generator.pick([1, 2, 3])).map { _ in generator.pick(Self.functions[name]!) }
        let text = " AGGREGATE(\(functions.joined(separator: ", ")))"
        guard generator.chance(70) else { return text }
        let group = generator.pick(Self.groups[name]!)
        let key = generator.pick([functions[0], String(group.prefix { $0 != "," })])
        var clauses = " GROUP(\(group))\(text)"
        if generator.chance(50) { clauses += " SORT(\(key) \(generator.pick(["ASC", "DESC"])))" }
        if generator.chance(50) { clauses += " LIMIT(\(generator.pick([0, 1, 2, 3, 8])))" }
        return clauses
    }

    private static let functions: [String: [String]] = [
        "User": [
            "@count", "@avg.age", "@max.age", "@min.best.age", "@sum.friends.@count", "@min.since", "@sum.age",
            "@max.friends.@sum.age",
        ],
        "Car": ["@count", "@sum.price", "@avg.price", "@max.price", "@min.owners.@avg.age"],
        "Dealer": ["@count", "@sum.staff.@count", "@max.staff.@max.age"],
        "Flight": ["@count", "@avg.delay", "@max.plane.seats", "@min.due", "@sum.delay"],
    ]

    private static let predicates: [String: [String]] = [
        "User": [
            "TRUEPREDICATE", "age > 5", "name == 'a'", "best.age > 5", "ANY friends.age > 7", "best == NULL",
            "best.best.name == 'b'", "friends.@count > 1", "NOT age > 5 AND best.name != 'c'", "best.name == NULL",
            "ANY friends.best.age < 3", "id < 3", "age > 3 OR ANY friends.name == 'd'",
            "@links.User.friends.@count > 1", "ANY @links.Car.owners.price > 5", "NONE @links.User.best.age > 4",
            "@links.Car.owners.dealer.city == 'a'", "best.@links.User.friends.name == 'b'", "@links.@count > 3",
            "SUBQUERY(@links.Car.owners, $c, $c.price > age).@count > 0", "friends.@sum.age > age * 2",
            "@links.User.best.@links.Dealer.staff.city == 'c'", "SUBQUERY(friends, $f, $f.best.age > age).@count > 1",
            "friends[0].age > friends[LAST].age", "friends == best.friends", "@links.Dealer.staff.show.price > 3",
            "name CONTAINS 'a'", "name ENDSWITH 'b' AND age > 2", "name LIKE '*c*' OR age == 4",
            "name ==[c] 'A'", "name CONTAINS[c] 'B' OR best.name ==[c] 'C'", "best.name BEGINSWITH[c] 'D'",
            "NOT best.name ==[c] 'A' AND name LIKE[c] '*B*'", "name !=[c] 'C' AND age > 2",
            "ANY friends == 2", "ANY friends IN {1, 3} AND age > 2", "NONE friends == 1", "ANY best.friends == 3",
            "@links.User.friends.@count == 2", "friends.@count == 1 OR best.name CONTAINS 'a'",
        ],
        "Car": [
            "TRUEPREDICATE", "ANY owners == 1", "ANY owners IN {0, 2, 5}", "price > 4", "dealer.city == 'a'",
            "ANY owners.age > 6", "dealer == NULL",
            "name IN {'a', 'b'} AND dealer.city != 'b'", "ANY owners.best.name == 'a'",
            "@links.Dealer.show.@count > 0", "dealer.@links.Car.dealer.@max.price == price", "owners.@avg.age < price",
            "dealer.show['k0'].price + 1 > price", "dealer.city ENDSWITH 'a'", "@links.Dealer.show.@count == 1",
        ],
        "Dealer": [
            "TRUEPREDICATE", "city == 'b'", "ANY staff.age > 5", "staff.@count > 0",
            "@links.Car.dealer.@sum.price > 8", "ANY @links.Car.dealer.owners.@links.User.best.age > 3",
        ],
        "Flight": [
            "TRUEPREDICATE", "delay > 4", "plane == NULL", "origin.name == 'a'", "origin.hub.name == 'b' AND delay < 8",
            "plane.seats > 3", "plane != NULL AND carrier == 'c'",
        ],
    ]

    private static let timedPredicates: [String: [String]] = [
        "User": [
            "since < $now", "since > $now - 3us", "NOT since <= $now + 2us", "since BETWEEN {$now - 4us, $now + 4us}",
            "best.since < $now", "ANY friends.since >= $now", "ALL friends.since < $now - 1us",
            "NONE friends.best.since > $now", "SUBQUERY(friends, $f, $f.since < $now).@count > 1",
            "SUBQUERY(friends, $f, $f.since < $now AND $f.age > 3).@count == 1", "age > 5 OR since < $now",
            "friends[0].since <= $now", "ANY @links.User.best.since < $now - 2us",
            "SUBQUERY(@links.User.friends, $u, $u.since > $now AND $u.age > age).@count > 0",
            "name == 'a' AND since < $now", "since < $now AND best.since > $now",
        ],
        "Car": [
            "ANY owners.since < $now", "NONE owners.best.since > $now + 1us", "price > 4 OR ANY owners.since < $now",
        ],
        "Dealer": ["ANY staff.since < $now", "SUBQUERY(staff, $s, $s.since > $now).@count == 0"],
        "Flight": ["due < $now", "due >= $now - 5us AND delay > 2", "carrier == 'c' AND due > $now"],
    ]

    /// Makes a context that hides some objects of some classes.
    mutating func context() throws -> ReadContext {
        if generator.chance(50) { return try contextOfRules() }
        var conditions: [String] = []
        for name in Self.predicates.keys.sorted() where generator.chance(50) {
            let predicate = generator.chance(10) ? "FALSEPREDICATE" : generator.pick(Self.predicates[name]!)
            let condition = "\(name) WHERE \(predicate)"
            if (try? TestSchema.query(condition)) != nil { conditions.append(condition) }
        }
        return try ReadContext(conditions, schema: TestSchema.schema)
    }

    /// Makes a context that says something of every class, and hides who the hidden objects of some are.
    private mutating func contextOfRules() throws -> ReadContext {
        var rules: [Query] = []
        var veils: [Int: ReadVeil] = [:]
        for name in TestSchema.schema.classes.map(\.name) {
            let predicate = generator.pick((Self.predicates[name] ?? ["TRUEPREDICATE"]) + ["TRUEPREDICATE"])
            let rule = try (try? TestSchema.query("\(name) WHERE \(predicate)")) ?? TestSchema.query(name)
            rules.append(rule)
            if generator.chance(60) { veils[rule.classIndex] = ReadVeil(hidesIdentity: true) }
        }
        return ReadContext(rules: rules, veils: veils, denying: ReadDenial(TestSchema.schema))
    }

    private static let sorts: [String: [String]] = [
        "User": [
            "since ASC", "age ASC", "best.age DESC", "name DESC, age ASC", "best.best.age ASC, name ASC", "id DESC",
        ],
        "Car": ["price ASC", "dealer.city DESC, name ASC", "name ASC"],
        "Dealer": ["city ASC", "code DESC"],
        "Flight": ["due DESC", "delay DESC", "origin.hub.name ASC, delay ASC", "plane.seats DESC", "carrier ASC"],
    ]

    private static let groups: [String: [String]] = [
        "User": ["name", "best", "best.age", "friends.@count"],
        "Car": ["name, price", "dealer", "dealer.city"],
        "Dealer": ["city"],
        "Flight": ["carrier", "origin.hub", "plane.seats, delay"],
    ]

    private static let exclusions: [String: [String]] = [
        "User": [
            "friends", "best", "friends, best", "friends.friends", "friends.best, best.friends", "name",
            "friends.age, best.name", "friends.friends.friends, best.best", "age, friends.name, best",
        ],
        "Car": [
            "owners", "dealer", "owners.friends", "owners, dealer.staff", "dealer.show", "dealer.show.owners, name",
            "dealer.show.dealer, owners.best, dealer.staff.friends",
        ],
        "Dealer": ["staff", "show", "show.dealer", "staff.friends, show.owners", "city, show.owners.best"],
        "Flight": [
            "plane", "origin", "origin, plane", "origin.hub", "plane.seats, origin.name", "carrier, origin.hub.hub",
        ],
    ]
}
