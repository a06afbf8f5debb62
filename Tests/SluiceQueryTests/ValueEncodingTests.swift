import FoundationEssentials
import SluiceModel
import SluiceStorage
import TestSupport
import Testing

@testable import SluiceQuery

struct ValueEncodingTests {
    @Test("Decimal keys order as decimals do and come back", arguments: 0..<4 as Range<UInt64>)
    func decimalKeys(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var numbers: [Decimal] = [
            0, 1, -1, 10, -10, 0.1, -0.1, 99, 100, 101, .greatestFiniteMagnitude, .leastFiniteMagnitude,
        ]
        for _ in 0..<200 {
            let digits = (0..<Int.random(in: 1...38, using: &generator)).map { _ in
                String(Int.random(in: 0...9, using: &generator))
            }.joined()
            let sign = generator.chance(50) ? "-" : ""
            let exponent = Int.random(in: -60...60, using: &generator)
            numbers.append(try #require(Decimal(string: "\(sign)\(digits)e\(exponent)")))
        }
        for left in numbers {
            #expect(DecimalKey.decode(DecimalKey.encode(left)) == left, "seed \(seed): \(left)")
            for right in numbers {
                let (leftKey, rightKey) = (DecimalKey.encode(left), DecimalKey.encode(right))
                #expect((left < right) == leftKey.lexicographicallyPrecedes(rightKey), "seed \(seed): \(left) \(right)")
                #expect((left == right) == (leftKey == rightKey), "seed \(seed): \(left) \(right)")
            }
            #expect(DecimalKey.encode(left).lexicographicallyPrecedes(DecimalKey.encode(.nan)))
        }
    }

    @Test func equalDecimalsOfDifferentFormHaveOneKey() throws {
        let forms = try ["1.50", "1.5", "150e-2", "0.15e1"].map { try #require(Decimal(string: $0)) }
        #expect(Set(forms.map(DecimalKey.encode)).count == 1)
        #expect(DecimalKey.decode([3, 128]) == nil)
        #expect(DecimalKey.decode([]) == nil)
        #expect(DecimalKey.decode([3, 128, 1, 200]) == nil)
    }

    @Test(
        "Values come back from their SQL form",
        arguments: [
            .null, .bool(true), .int(.min), .float(0.1), .double(.nan), .double(-.infinity), .string("a\u{0}é"),
            .data([]),
            .data([0, 255]), .date(Timestamp(microseconds: -1)), .decimal(-12.5),
            .objectID(ObjectID(high: .max, low: 1)),
            .uuid(UUID()), .float(.nan),
        ] as [Value])
    func bindings(value: Value) throws {
        let type = value.scalarType ?? .int
        #expect(try #require(SQLBinding(value)).value(of: type) == value)
    }

    @Test func objectIDWordsKeepTheirOrderAsSignedIntegers() {
        let words: [UInt64] = [0, 1, 1 << 63 - 1, 1 << 63, .max]
        #expect(words.map(TableLayout.word) == words.map(TableLayout.word).sorted())
        #expect(words.map { TableLayout.unsigned(TableLayout.word($0)) } == words)
    }

    @Test(
        "LIKE matches scalars and runs",
        arguments: [
            ("", "", true), ("*", "", true), ("?", "", false), ("a?c", "abc", true), ("a?c", "aéc", true),
            ("a*c", "ac", true),
            ("a*b*c", "a--b-b-c", true), ("a*b*c", "a--c", false), ("*a", "aaab", false), ("?", "e\u{301}", false),
            ("é", "e\u{301}", false), ("**a**", "xay", true),
        ] as [(String, String, Bool)])
    func like(pattern: String, text: String, matches: Bool) {
        #expect(LikePattern.matches(pattern, text, ignoresCase: false) == matches)
    }

    @Test func aPatternOfManyRunsEndsSoon() {
        let pattern = String(repeating: "a*", count: 200) + "b"
        #expect(!LikePattern.matches(pattern, String(repeating: "a", count: 5_000), ignoresCase: false))
    }

    @Test func foldingTwiceIsFoldingOnce() {
        for scalar in (0..<0x11_0000 as Range<UInt32>).lazy.compactMap(Unicode.Scalar.init) {
            let folded = CaseFolding.fold(String(scalar))
            if !UTF8Order.equal(CaseFolding.fold(folded), folded) {
                Issue.record("U+\(String(scalar.value, radix: 16))")
            }
        }
    }
}
