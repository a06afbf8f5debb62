import SluiceModel
import TestSupport
import Testing

@testable import SluiceQuery

/// What LIKE matches, and how much work it takes.
@Suite(.ownThread) struct LikePatternTests {
    /// Matches by definition: one scalar of the pattern after the other, with every sequence that a `*` may match.
    private static func fits(_ pattern: ArraySlice<UInt32>, _ text: ArraySlice<UInt32>) -> Bool {
        // Row by row: whether the part of the pattern so far matches the first n scalars.
        var fitting = [true] + Array(repeating: false, count: text.count)
        for expected in pattern {
            var next = Array(repeating: false, count: text.count + 1)
            for length in 0...text.count {
                if expected == Unicode.Scalar("*").value {
                    next[length] = fitting[length] || length > 0 && next[length - 1]
                } else if length > 0, fitting[length - 1] {
                    next[length] =
                        expected == Unicode.Scalar("?").value || expected == text[text.startIndex + length - 1]
                }
            }
            fitting = next
        }
        return fitting[text.count]
    }

    private static func text(
        _ length: ClosedRange<Int>, of scalars: [Unicode.Scalar], _ generator: inout SeededGenerator
    ) -> String {
        var view = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: length, using: &generator) { view.append(generator.pick(scalars)) }
        return String(view)
    }

    private static func scalars(_ text: String) -> [UInt32] { text.unicodeScalars.map(\.value) }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func generatedPatternsFitWhatTheirDefinitionFits(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<3_000 {
            let pattern = Self.text(0...8, of: ["a", "A", "\u{E9}", "*", "*", "?"], &generator)
            let text = Self.text(0...12, of: ["a", "A", "\u{E9}"], &generator)
            for ignoresCase in [false, true] {
                func folded(_ text: String) -> [UInt32] {
                    Self.scalars(ignoresCase ? CaseFolding.fold(text) : text)
                }
                let expected = Self.fits(folded(pattern)[...], folded(text)[...])
                let found = LikePattern.matches(pattern, text, ignoresCase: ignoresCase)
                #expect(found == expected, "seed \(seed): \(text.debugDescription) LIKE \(pattern.debugDescription)")
            }
        }
    }

    /// The search that takes over when the walk reaches its bound, with every kind of segment: literal, short and long
    /// with `?`.
    @Test(arguments: 0..<6 as Range<UInt64>)
    func searchWithoutGoingBackFindsWhatTheDefinitionFinds(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var fittingCount = 0
        for _ in 0..<120 {
            let text = Self.text(60...400, of: ["a", "a", "a", "b", "\u{10FFFF}"], &generator)
            var pattern = Self.scalars(text)
            // A pattern that matches, or nearly does: parts of the text become wildcards, and some elements change.
            for index in pattern.indices where Int.random(in: 0..<9, using: &generator) == 0 { pattern[index] = 0x3F }
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                let start = Int.random(in: 0..<pattern.count, using: &generator)
                let end = min(pattern.count, start + Int.random(in: 0...40, using: &generator))
                pattern.replaceSubrange(start..<end, with: [0x2A])
            }
            if Bool.random(using: &generator) {
                pattern[Int.random(in: 0..<pattern.count, using: &generator)] = Unicode.Scalar("b").value
            }
            var search = LikeSearch(pattern, Self.scalars(text))
            let expected = Self.fits([0x2A] + pattern[...], Self.scalars(text)[...])
            #expect(search.matches() == expected, "seed \(seed): \(text) LIKE \(pattern)")
            if expected { fittingCount += 1 }
        }
        #expect((20..<110).contains(fittingCount))
    }

    @Test(arguments: [
        "*a?a?ab*", "*" + String(repeating: "?a", count: 20) + "b*", "*a*a*a*a*b", "*????a?b", "**?*?*a?*b",
    ])
    func aTextTwiceAsLongTakesTwiceTheSteps(pattern: String) {
        func stepCount(_ length: Int) -> Int {
            var stepCount = 0
            let text = String(repeating: "a", count: length)
            #expect(!LikePattern.matches(pattern, text, ignoresCase: false, counting: &stepCount))
            return stepCount
        }
        #expect(stepCount(20_000) <= 2 * stepCount(10_000) + 1_000)
        #expect(stepCount(20_000) <= 8 * 20_000)
    }

    /// Pattern and text double together; the product of their lengths grows four times.
    @Test(arguments: ["a", "?a"])
    func aPatternAndATextTwiceAsLongTakeLittleMoreThanTwiceTheSteps(part: String) {
        func stepCount(_ length: Int) -> Int {
            var stepCount = 0
            let pattern = "*" + String(repeating: part, count: length / 4 / part.utf8.count) + "b*"
            let text = String(repeating: "a", count: length)
            #expect(!LikePattern.matches(pattern, text, ignoresCase: true, counting: &stepCount))
            return stepCount
        }
        #expect(stepCount(16_384) <= 5 * stepCount(8_192) / 2)
        #expect(stepCount(16_384) <= 120 * 16_384)
    }

    @Test func aPartThatNearlyFitsEverywhereIsSoughtInLinearTime() {
        let text = String(repeating: "a", count: 40_000)
        let part = String(repeating: "a", count: 20_000) + "b"
        // In proportion to the product of the lengths this would take 800 million comparisons.
        #expect(!CaseFolding.contains(text, part) && CaseFolding.contains(text + "B", part))
        #expect(!ValueComparison(.contains, ignoresCase: false).holds(.string(text), .string(part)))
        #expect(ValueComparison(.contains, ignoresCase: false).holds(.string(text + "b"), .string(part)))
        var search = LinearSearch(for: Array(part.utf8)[...])
        #expect(search.find(in: text.utf8) == nil && search.stepCount < 4 * (text.utf8.count + part.utf8.count))
    }
}
