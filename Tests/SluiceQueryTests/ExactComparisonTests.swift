import FoundationEssentials
import SluiceModel
import SluiceStorage
import TestSupport
import Testing

@testable import SluiceQuery

/// Numbers compare by their exact values: an integer is never converted to a double, whatever it is compared with.
@Suite(.ownThread) struct ExactComparisonTests {
    private static let schema: Schema = {
        let properties = [
            Property("id", .scalar(.int)), Property("i", .scalar(.int, isOptional: true)),
            Property("d", .scalar(.double, isOptional: true)), Property("f", .scalar(.float, isOptional: true)),
            Property("m", .scalar(.decimal, isOptional: true)),
            Property("is", PropertyType(.scalar(.int), container: .list)),
            Property("ds", PropertyType(.scalar(.double), container: .list)),
        ]
        do {
            return try Schema([ClassSchema("N", primaryKey: "id", properties: properties)])
        } catch {
            preconditionFailure("\(error)")
        }
    }()

    private static let integers: [Int64] =
        [
            0, 1, -1, 16_777_217, 1 << 53, (1 << 53) + 1, (1 << 53) - 1, -(1 << 53) - 1, 1 << 62, .max, .max - 1, .min,
            .min + 1,
        ]

    private static let doubles: [Double] =
        [
            0, -0.0, 0.5, 1, -1, 0x1p53, 0x1p53 + 2, -0x1p53, 0x1p62, 0x1p63, -0x1p63, 0x1.fffffffffffffp62, 1e19,
            -1e19, 1e300,
        ]

    /// One object for each number of each type; its other properties are null.
    private static func world() throws -> TestWorld {
        let world = TestWorld(schema)
        var id: Int64 = 0
        func insert(_ values: [String: Value]) throws {
            id += 1
            try world.insert("N", .int(id), values)
        }
        for number in integers { try insert(["i": .int(number), "is": .list([.int(number), .int(3)])]) }
        for number in doubles {
            try insert(["d": .double(number), "f": .float(Float(number)), "ds": .list([.double(number)])])
        }
        for number in integers { try insert(["m": .decimal(Decimal(number))]) }
        for (left, right) in zip(integers, doubles) { try insert(["i": .int(left), "d": .double(right)]) }
        for number in integers {
            try insert(["i": .int(number), "d": .double(Double(number)), "m": .decimal(Decimal(number))])
        }
        return world
    }

    private static func keys(
        _ condition: String, _ arguments: [Value] = [], in world: TestWorld
    ) throws -> [ObjectKey] {
        let query = try Query.parse(condition + " SORT(id ASC)", className: "N", arguments: arguments, schema: schema)
        #expect(try Query.parse(query.canonicalText, schema: schema) == query, "\(condition)")
        let evaluated = try world.evaluate(query)
        let compiler = SQLCompiler(schema: schema)
        let database = try world.database()
        #expect(try world.keys(database.integers(compiler.select(query)), ofClass: 0) == evaluated, "\(condition): SQL")
        let lookups = try database.integers(compiler.select(query, restrictedTo: "1"))
        #expect(world.keys(lookups, ofClass: 0) == evaluated, "\(condition): SQL with lookups")
        // The condition that files a live view must hold for every result.
        let filing = query.rootConditions(schema: schema)
        for key in evaluated {
            let row = try #require(world.rows[ObjectRef(0, key)])
            for condition in filing { #expect(condition.holds(row.values[condition.property])) }
        }
        return evaluated
    }

    private static func holds(_ order: Int, _ comparison: String) -> Bool {
        switch comparison {
        case "==": order == 0
        case "!=": order != 0
        case "<": order < 0
        case "<=": order <= 0
        case ">": order > 0
        default: order >= 0
        }
    }

    private static let comparisons = ["==", "!=", "<", "<=", ">", ">="]

    /// Texts of numbers near the limits of doubles and 64-bit integers, with halves and exponents.
    private static func texts(_ generator: inout SeededGenerator) -> String {
        let near = generator.pick([Int128(1) << 24, 1 << 53, 1 << 62, 1 << 63, 10_000_000_000_000_000_000, 0])
        let number = near + Int128(Int.random(in: -2...2, using: &generator))
        let sign = generator.chance(50) ? "-" : ""
        let digits = number.magnitude.description
        switch Int.random(in: 0...5, using: &generator) {
        case 0: return sign + digits + ".0"
        case 1: return sign + digits + ".5"
        case 2: return sign + digits + "." + String(repeating: "0", count: 30) + "1"
        case 3: return sign + digits + "00e-2"
        case 4:
            return sign + (digits.count > 1 ? "\(digits.prefix(1)).\(digits.dropFirst())e\(digits.count - 1)" : digits)
        default: return sign + digits
        }
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func aNumberAsWrittenComparesWithIntegersToItsLastDigit(seed: UInt64) throws {
        let world = try Self.world()
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<40 {
            let text = Self.texts(&generator)
            let exact = NaiveExact(text: text)
            for comparison in Self.comparisons {
                let expected = world.rows.keys.sorted().filter { object in
                    guard case .int(let number) = world.rows[object]!.values[1] else { return comparison == "!=" }
                    return Self.holds(NaiveExact.order(NaiveExact(number), exact), comparison)
                }
                let found = try Self.keys("i \(comparison) \(text)", in: world)
                #expect(found == expected.map(\.key), "seed \(seed): i \(comparison) \(text)")
                let turned = try Self.keys("ANY is \(comparison) ALL {\(text), \(text), 3}", in: world)
                let many = world.rows.keys.sorted().filter { object in
                    guard case .list(let values) = world.rows[object]!.values[5] else { return false }
                    return values.contains { value in
                        guard case .int(let number) = value else { return false }
                        return Self.holds(NaiveExact.order(NaiveExact(number), exact), comparison)
                            && Self.holds(NaiveExact.order(NaiveExact(number), NaiveExact(Int64(3))), comparison)
                    }
                }
                #expect(turned == many.map(\.key), "seed \(seed): is \(comparison) \(text)")
            }
            let among = try Self.keys("i IN {\(text), 1}", in: world)
            let equal = try Self.keys("i == \(text) OR i == 1.0", in: world)
            #expect(among == equal, "seed \(seed): \(text)")
            let between = try Self.keys("i BETWEEN {\(text), 9.3e18}", in: world)
            let from = try Self.keys("i >= \(text)", in: world)
            #expect(between == from, "seed \(seed): \(text)")
        }
    }

    @Test func anIntegerComparesWithDoublesByItsValue() throws {
        let world = try Self.world()
        for integer in Self.integers {
            for (name, position) in [("d", 2), ("f", 3), ("m", 4)] {
                for comparison in Self.comparisons {
                    let expected = world.rows.keys.sorted().filter { object in
                        let order: Int
                        switch world.rows[object]!.values[position] {
                        case .double(let number): order = NaiveExact.order(NaiveExact(number), NaiveExact(integer))
                        case .float(let number) where number.isFinite:
                            order = NaiveExact.order(NaiveExact(Double(number)), NaiveExact(integer))
                        case .float(let number): order = number > 0 ? 1 : -1
                        case .decimal(let number):
                            order = NaiveExact.order(NaiveExact(text: number.description), NaiveExact(integer))
                        default: return comparison == "!="
                        }
                        return Self.holds(order, comparison)
                    }
                    for (condition, arguments) in [
                        ("\(name) \(comparison) \(integer)", []), ("\(name) \(comparison) $0", [Value.int(integer)]),
                    ] {
                        #expect(
                            try Self.keys(condition, arguments, in: world) == expected.map(\.key),
                            "\(name) \(comparison) \(integer)")
                    }
                }
            }
        }
    }

    @Test func aDoubleAsArgumentComparesWithIntegersByItsValue() throws {
        let world = try Self.world()
        for double in Self.doubles {
            for comparison in Self.comparisons {
                let expected = world.rows.keys.sorted().filter { object in
                    guard case .int(let number) = world.rows[object]!.values[1] else { return comparison == "!=" }
                    return Self.holds(NaiveExact.order(NaiveExact(number), NaiveExact(double)), comparison)
                }
                let found = try Self.keys("i \(comparison) $0", [.double(double)], in: world)
                #expect(found == expected.map(\.key), "i \(comparison) \(double)")
            }
        }
    }

    @Test func numbersOfTwoTypesCompareAlikeAsPropertiesAndAsConstants() throws {
        let world = try Self.world()
        for comparison in Self.comparisons {
            for (left, right) in [("i", "d"), ("i", "m"), ("d", "m"), ("i", "f")] {
                let (own, other) = (Self.position(left), Self.position(right))
                let expected = try world.rows.keys.sorted().filter { object in
                    let values = world.rows[object]!.values
                    guard !values[own].isNull, !values[other].isNull else {
                        let isEqual = values[own].isNull && values[other].isNull
                        return isEqual ? ["==", "<=", ">="].contains(comparison) : comparison == "!="
                    }
                    return try Self.keys("\(left) \(comparison) $0", [values[other]], in: world).contains(object.key)
                }
                let found = try Self.keys("\(left) \(comparison) \(right)", in: world)
                #expect(found == expected.map(\.key), "\(left) \(comparison) \(right)")
            }
        }
    }

    private static func position(_ name: String) -> Int { schema[0].index(of: name) ?? 0 }

    @Test(arguments: [
        ("9007199254740993.0 == 9007199254740992", "FALSEPREDICATE"), ("1e400 > 1e399", ""), ("0.1 == 1e-1", ""),
        ("9223372036854775808 > 9223372036854775807", ""), ("1e-400 > 0", ""), ("2 IN {1, 2.0}", ""),
        ("i == 9007199254740993.0", "i == 9007199254740993"), ("i > -9223372036854775809", "i != NULL"),
        ("i == -9223372036854775809", "FALSEPREDICATE"), ("i < 1e19", "i != NULL"), ("i == 1e400", "FALSEPREDICATE"),
        ("i >= 9223372036854775806.5", "i > 9223372036854775806"), ("i < -0.5", "i <= -1"), ("i == -0.0", "i == 0"),
        ("d == 9007199254740993", "FALSEPREDICATE"), ("d < 9007199254740993", "d <= 9007199254740992.0"),
        ("d == 9007199254740993.0", "d == 9007199254740992.0"), ("d == -0.0", "d == 0"),
        ("f == 16777217", "FALSEPREDICATE"),
        ("ANY is < ALL {1.5, 3}", "ANY is < ALL {2, 3}"),
    ])
    func aConstantKeepsItsLastDigit(condition: String, canonical: String) throws {
        let text = try Query.parse(condition, className: "N", schema: Self.schema).canonicalText
        #expect(text.dropFirst(text.hasPrefix("N WHERE ") ? 8 : 1) == canonical)
    }

    @Test func aDecimalBeyondItsDigitsIsRefused() {
        let error = #expect(throws: QueryError.self) {
            try Query.parse("m == 0." + String(repeating: "1", count: 45), className: "N", schema: Self.schema)
        }
        #expect(error?.message.contains("more digits than a decimal") == true)
        #expect(error?.position == 5)
    }

    @Test func anAverageOfIntegersIsRoundedOnce() throws {
        let world = TestWorld(Self.schema)
        // Half of the sum lies between two doubles, nearer to the upper one.
        try world.insert("N", .int(1), ["is": .list([.int(.max), .int(.max - 2_047)])])
        try world.insert("N", .int(2), ["is": .list([.int(1 << 53), .int((1 << 53) + 1), .int((1 << 53) + 2)])])
        #expect(try Self.keys("is.@avg == 9223372036854774784", in: world) == [.int(1)])
        #expect(try Self.keys("is.@avg == 9007199254740992", in: world) == [.int(2)])
        #expect(try Self.keys("is.@sum == 27021597764222979", in: world) == [.int(2)])
    }
}

extension RootCondition {
    /// Whether a value meets the condition.
    fileprivate func holds(_ value: Value) -> Bool {
        switch test {
        case .equal(let constant): value == constant
        case .isIn(let constants): constants.contains(value)
        case .prefix, .suffix, .part: false
        case .range(let range): range.contains(value)
        }
    }
}
