internal import FoundationEssentials
package import SluiceModel

/// Values at the edges of every type, and random ones, which every path through the system must preserve to the bit.
package enum EdgeValues {
    /// Values of a scalar type: the ends of its range, its neighbours of zero, and values that are easily mistaken for
    /// others.
    package static func edges(of type: ScalarType) -> [Value] {
        switch type {
        case .bool: [.bool(false), .bool(true)]
        case .int: [.min, .min + 1, -1, 0, 1, 9_007_199_254_740_993, .max - 1, .max].map { .int($0) }
        case .float:
            [
                0, -0.0, .leastNonzeroMagnitude, -.leastNonzeroMagnitude, .leastNormalMagnitude, 0.1, 16_777_215,
                .greatestFiniteMagnitude, .infinity, -.infinity, .nan,
            ].map { .float($0) }
        case .double:
            [
                0, -0.0, .leastNonzeroMagnitude, -.leastNonzeroMagnitude, .leastNormalMagnitude, 0.1, -1, 1e15, 1e22,
                9_007_199_254_740_992, 0x1p63, .greatestFiniteMagnitude, .infinity, -.infinity, .nan,
            ].map { .double($0) }
        case .string: texts.map { .string($0) }
        case .data: [[], [0], [0x80, 0xFF, 0], [UInt8](repeating: 0xA5, count: 20_000)].map { .data($0) }
        case .date:
            [.min, .min + 1, -62_135_596_800_000_000, -1, 0, 1, 1_357_034_400_123_456, .max - 1, .max].map {
                .date(Timestamp(microseconds: $0))
            }
        case .uuid:
            ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"].map {
                .uuid(UUID(uuidString: $0)!)
            }
        case .objectID: [.objectID(ObjectID(high: 0, low: 0)), .objectID(ObjectID(high: .max, low: .max))]
        case .decimal: decimals.map { .decimal($0 == "NaN" ? .nan : try! DecimalText.parse($0)) }
        }
    }

    /// Texts of decimals.
    package static let decimals = [
        "0", "1", "-1", "0.1", "100", "NaN", "99999999999999999999999999999999999999",
        "340282366920938463463374607431768211455", "-340282366920938463463374607431768211455",
        "340282366920938463463374607431768211455e127", "340282366920938463463374607431768211455e-128", "1e-128",
        "-1e-128", "1e127", "1e160", "12345678901234567890.123456789012345678", "-0.00000000000000000000000000000001",
    ]

    private static let texts = [
        "", " ", "NA", "null", "a,b", "\"", "line\nbreak", "x\0y", "\0", "é", "e\u{301}", "\u{301}", "\u{FEFF}bom",
        "\u{1F6F0}\u{FE0F}", "\u{10FFFF}", "\u{FFFF}", "\\u0041", String(repeating: "long ", count: 4_000),
    ]

    /// A value at an edge, or any other value.
    package static func scalar(_ type: ScalarType, using random: inout SeededGenerator) -> Value {
        guard random.chance(30) else { return random.pick(edges(of: type)) }
        switch type {
        case .bool: return .bool(random.chance(50))
        case .int: return .int(Int64(bitPattern: random.next() >> (random.next() & 63)))
        case .float:
            let number = Float(bitPattern: UInt32(truncatingIfNeeded: random.next()))
            return .float(number.isNaN ? .nan : number)
        case .double:
            let number = Double(bitPattern: random.next())
            return .double(number.isNaN ? .nan : number)
        case .string: return .string(random.text(Int(random.next() & 31)))
        case .data: return .data(random.bytes(Int(random.next() & 31)))
        case .date: return .date(Timestamp(microseconds: Int64(bitPattern: random.next() >> (random.next() & 63))))
        case .uuid: return .uuid(UUID(uuidString: "0F0E0D0C-0B0A-4908-8706-050403020100")!)
        case .objectID: return .objectID(ObjectID(high: random.next(), low: random.next()))
        case .decimal:
            let digits = (0...Int.random(in: 0..<38, using: &random)).map { _ in String(random.next() % 10) }.joined()
            let exponent = Int.random(in: -128...127, using: &random)
            return .decimal(try! DecimalText.parse("\(random.chance(50) ? "-" : "")\(digits)e\(exponent)"))
        }
    }

    /// A value of a type without links.
    package static func value(of type: PropertyType, using random: inout SeededGenerator) -> Value {
        guard case .scalar(let scalar) = type.element else { return .null }
        func element() -> Value {
            type.isOptional && random.chance(20) ? .null : Self.scalar(scalar, using: &random)
        }
        let count = Int.random(in: 0...4, using: &random)
        switch type.container {
        case .single: return element()
        case .list: return .list((0..<count).map { _ in element() })
        case .set: return .set(of: (0..<count).map { _ in element() })
        case .map: return .map(ValueMap((0..<count).map { (key: texts[($0 * 7) % 17], value: element()) }))
        }
    }

    /// A class with every scalar type in every container, each optional and not.
    package static func everything(_ name: String = "Everything") throws -> ClassSchema {
        var properties: [Property] = []
        for type in ScalarType.allCases {
            for container in [PropertyType.Container.single, .list, .set, .map] {
                for isOptional in [false, true] {
                    properties.append(
                        Property(
                            "\(container)_\(type.rawValue)\(isOptional ? "_optional" : "")",
                            PropertyType(.scalar(type), container: container, isOptional: isOptional),
                            isIndexed: container == .single))
                }
            }
        }
        return try ClassSchema(name, properties: properties)
    }

    private static func digest(_ bytes: [UInt8]) -> String { "\(bytes.count) \(SHA256.truncatedID(of: bytes))" }

    /// The exact text of a value: equal for identical values, and different for all others.
    package static func bits(_ value: Value) -> String {
        switch value {
        case .null: "null"
        case .bool(let value): "bool \(value)"
        case .int(let value): "int \(value)"
        case .float(let value): "float \(value.isNaN ? "nan" : String(value.bitPattern, radix: 16))"
        case .double(let value): "double \(value.isNaN ? "nan" : String(value.bitPattern, radix: 16))"
        case .string(let value): "string \(digest(Array(value.utf8)))"
        case .data(let value): "data \(digest(value))"
        case .date(let value): "date \(value.microseconds)"
        case .uuid(let value): "uuid \(value.uuidString)"
        case .objectID(let value): "id \(value)"
        case .decimal(let value): "decimal \(value.isNaN ? "NaN" : value.description)"
        case .link(let key): "link \(bits(key.value))"
        case .list(let values): "list \(values.map(bits))"
        case .set(let values): "set \(values.map(bits))"
        case .map(let map): "map \(map.entries.map { "\(Array($0.key.utf8)): \(bits($0.value))" })"
        }
    }
}
