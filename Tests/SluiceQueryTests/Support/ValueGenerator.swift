import FoundationEssentials
import SluiceModel
import TestSupport

@testable import SluiceQuery

/// Generates few different values of each type, so that conditions match objects.
struct ValueGenerator {
    var random: SeededGenerator

    func key(_ number: Int, of declared: ClassSchema) -> ObjectKey {
        switch declared.keyType {
        case .int: .int(Int64(number))
        case .string: .string(["", "a", "A", "ä", "Ä", "ab", "b", "z", "éa", "\u{10FFFF}"][number])
        case .uuid: .uuid(UUID(bytes: [UInt8](repeating: UInt8(number * 25), count: 16)) ?? UUID())
        default: .id(ObjectID(high: number < 5 ? 1 : .max, low: UInt64(number) << 61))
        }
    }

    mutating func value(of property: Property, _ schema: Schema) -> Value {
        let type = property.type
        switch type.container {
        case .single: return element(type, schema)
        case .list: return .list(elements(type, schema))
        case .set: return .set(of: elements(type, schema))
        case .map:
            return .map(ValueMap(elements(type, schema).map { (key: random.pick(["a", "b", "é"]), value: $0) }))
        }
    }

    private mutating func elements(_ type: PropertyType, _ schema: Schema) -> [Value] {
        (0..<random.pick([0, 0, 1, 2, 3])).map { _ in element(type, schema) }
    }

    mutating func element(_ type: PropertyType, _ schema: Schema) -> Value {
        if type.isOptional, random.chance(25) { return .null }
        switch type.element {
        case .scalar(let type): return scalar(type)
        case .link(let target):
            guard let declared = schema.classSchema(named: target) else { return .null }
            return .link(key(Int.random(in: 0..<10, using: &random), of: declared))
        }
    }

    mutating func scalar(_ type: ScalarType) -> Value {
        switch type {
        case .bool: .bool(random.chance(50))
        case .int: .int(random.pick([-1, 0, 1, 2, 3, .max, .min, 9_007_199_254_740_993, 16_777_217]))
        case .float: .float(random.pick([0, 1, 2.5, -1, 0.1, .nan, .infinity, -0.0, 16_777_216]))
        case .double:
            .double(
                random.pick([
                    0, 1, 2.5, -1, 0.1, .nan, .infinity, -.infinity, 9_007_199_254_740_992, 0x1p62, 0x1p63, -0x1p63,
                ]))
        case .string: .string(text())
        case .data: .data(random.pick([[], [1], [1, 2], [1, 2, 255], [255], [2]]))
        case .date: .date(Timestamp(microseconds: random.pick([0, 1, -1, 1_000_000, 1_359_626_400_000_000, .min])))
        case .uuid: .uuid(UUID(bytes: [UInt8](repeating: random.pick([0, 7, 255]), count: 16)) ?? UUID())
        case .objectID: .objectID(ObjectID(high: random.pick([0, 1, .max]), low: random.pick([0, .max])))
        case .decimal: .decimal(random.pick([0, 1, -1, 2.5, -2.5, 100, 0.1, Decimal.nan, Decimal(Int64.max)]))
        }
    }

    private mutating func text() -> String {
        (0..<random.pick([0, 1, 2, 3])).map { _ in
            random.pick(["a", "A", "b", "ä", "Ä", "é", "ß", "*", "?", "\u{10FFFF}"])
        }
        .joined()
    }
}
