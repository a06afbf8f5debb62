import FoundationEssentials
import SluiceModel

@testable import SluiceWire

/// Generates values, rows and messages from a seed.
struct SampleGenerator: RandomNumberGenerator {
    private var numbers: SeededGenerator

    init(seed: UInt64) { numbers = SeededGenerator(seed: seed) }

    mutating func next() -> UInt64 { numbers.next() }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

    mutating func bool() -> Bool { below(2) == 0 }

    mutating func pick<Element>(_ choices: [Element]) -> Element { choices[below(choices.count)] }

    mutating func maybe<Element>(_ make: (inout SampleGenerator) -> Element) -> Element? { bool() ? make(&self) : nil }

    mutating func many<Element>(upTo count: Int, _ make: (inout SampleGenerator) -> Element) -> [Element] {
        (0..<below(count + 1)).map { _ in make(&self) }
    }

    mutating func number() -> UInt64 { next() >> UInt64(below(64)) }

    mutating func integer() -> Int64 {
        pick([0, 1, -1, .max, .min, Int64(bitPattern: number()), -Int64(bitPattern: number() >> 1)])
    }

    mutating func text() -> String {
        pick(["", "a", "Toyota", "é", "e\u{301}", "日本語", "🚙🚗", "\u{0}", String(repeating: "x", count: below(300))])
    }

    mutating func data() -> [UInt8] { many(upTo: 40) { UInt8(truncatingIfNeeded: $0.next()) } }

    mutating func id() -> ObjectID { ObjectID(high: pick([7, 1 << 63, next()]), low: number()) }

    mutating func uuid() -> UUID { UUID(bytes: (0..<16).map { _ in UInt8(truncatingIfNeeded: next()) }) ?? UUID() }

    mutating func double() -> Double {
        pick([
            0, -0.0, 1, -1.5, 19.99, 0.1, .nan, .infinity, -.infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
            Double(integer()), Double(bitPattern: next()), Double(below(100_000)) / 100,
        ])
    }

    mutating func decimal() -> Decimal {
        pick([
            0, 1, -1, Decimal(below(1_000_000)) / 1000, .nan, .greatestFiniteMagnitude, .leastFiniteMagnitude,
            .leastNonzeroMagnitude, Decimal(next()) * Decimal(next()),
        ])
    }

    mutating func key() -> ObjectKey { pick([.id(id()), .int(integer()), .string(text()), .uuid(uuid())]) }

    mutating func scalar() -> Value {
        pick([
            .null, .bool(bool()), .int(integer()), .float(Float(double())), .double(double()), .string(text()),
            .data(data()), .date(Timestamp(microseconds: integer())), .uuid(uuid()), .objectID(id()),
            .decimal(decimal()), .link(key()),
        ])
    }

    mutating func map(_ value: (inout SampleGenerator) -> Value) -> ValueMap {
        ValueMap(many(upTo: 5) { (key: $0.text(), value: value(&$0)) })
    }

    mutating func value() -> Value {
        switch below(8) {
        case 0: .list(many(upTo: 6) { $0.scalar() })
        case 1: .set(of: many(upTo: 6) { $0.scalar() })
        case 2: .map(map { $0.scalar() })
        default: scalar()
        }
    }

    mutating func row() -> Row {
        Row(
            key: key(), version: next(), values: many(upTo: 9) { $0.value() },
            absent: PropertySet(many(upTo: 3) { $0.below(200) }))
    }

    /// Makes values of one type, as a column of a property, some of them null.
    mutating func column(count: Int) -> [Value] {
        let kind = below(20)
        let nulls = pick([0, 0, 3])
        let base = integer()
        let step = integer() >> 40
        let pool = (0..<4).map { _ in text() }
        let range = 1 << below(40)
        return (0..<count).map { index in
            if nulls > 0, below(nulls) == 0 { return .null }
            let small = Int64(below(range))
            return switch kind {
            case 0: .int(base)
            case 1: .int(base &+ small)
            case 2: .int(base &+ step &* Int64(index))
            case 3: .int(integer())
            case 4: .double(Double(small) / 100)
            case 5: .double(double())
            case 6: .string(pick(pool))
            case 7: .string(text())
            case 8: .link(.int(small))
            case 9: .link(.id(ObjectID(high: 9, low: UInt64(index))))
            case 10: .list(many(upTo: 3) { .link(.string($0.pick(pool))) })
            case 11: .set(of: many(upTo: 3) { $0.scalar() })
            case 12: .map(map { .int($0.integer()) })
            case 13: .bool(bool())
            case 14: .float(Float(small) / 10)
            case 15: .link(.string(pick(pool)))
            case 16: .date(Timestamp(microseconds: (below(20) == 0 ? small : small & 7) &* 3_600_000_000))
            case 18: .string("JT2\(100_000 + small & 0xFFFF)")
            case 17: .string("https://example.org/\(below(9) * 7919)" + pick(pool))
            default: value()
            }
        }
    }

    mutating func group(rowCountMax: Int = 40) -> ObjectGroup {
        let properties = PropertySet(many(upTo: 6) { $0.below(130) })
        let count = below(rowCountMax + 1)
        let columns = (0..<properties.count).map { _ in column(count: count) }
        let keyKind = below(4)
        var group = ObjectGroup(classIndex: below(20), role: pick(RowRole.allCases), properties: properties)
        for row in 0..<count {
            let key: ObjectKey =
                switch keyKind {
                case 0: .id(ObjectID(high: 5, low: UInt64(row)))
                case 1: .int(Int64(row * 3))
                case 2: .string(text())
                default: key()
                }
            group.append(key: key, version: UInt64(100 + row), values: columns.map { $0[row] })
        }
        return group
    }

    mutating func block() -> ObjectBlock { ObjectBlock(groups: many(upTo: 3) { $0.group() }) }

    mutating func author() -> CommitAuthor {
        CommitAuthor(
            version: number(), userID: maybe { $0.text() }, clientID: number(),
            kinds: Set(many(upTo: 4) { $0.pick(OperationKind.allCases) }),
            acceptedAt: Timestamp(microseconds: integer()), workerID: maybe { $0.text() })
    }

    mutating func viewBlock() -> ViewBlock {
        ViewBlock(
            authors: many(upTo: 3) { $0.author() }, objects: block(),
            departures: many(upTo: 10) {
                ViewBlock.Departure(
                    ObjectRef($0.below(2), $0.key()), role: $0.pick(RowRole.allCases),
                    reason: $0.pick(RemovalReason.allCases.filter { $0 != .purged && $0 != .unreadable }))
            })
    }
}
