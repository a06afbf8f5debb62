import SluiceModel
import TestSupport
import Testing

@testable import SluiceQuery

/// `[c]` folds while it compares; it must find what folding beforehand would find.
struct FoldedComparisonTests {
    private static let scalars: [Unicode.Scalar] = [
        "a", "A", "b", "B", "\u{E9}", "\u{C9}", "\u{130}", "i", "\u{212A}", "k", "\u{1E9E}", "\u{10400}", "\u{10428}",
        "\u{0}", "@", "[", "\u{7F}",
    ]

    private static func text(_ length: ClosedRange<Int>, _ generator: inout SeededGenerator) -> String {
        var view = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: length, using: &generator) { view.append(generator.pick(scalars)) }
        return String(view)
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func foldingOnTheWayFindsWhatFoldingBeforehandFinds(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<5_000 {
            let (text, part) = (Self.text(0...7, &generator), Self.text(0...3, &generator))
            let (bytes, needle) = (Array(CaseFolding.fold(text).utf8), Array(CaseFolding.fold(part).utf8))
            let starts = 0...max(0, bytes.count - needle.count)
            let expected = [
                bytes == needle, bytes.lexicographicallyPrecedes(needle), bytes.starts(with: needle),
                bytes.reversed().starts(with: needle.reversed()),
                starts.contains { bytes[$0...].starts(with: needle) },
            ]
            let order = CaseFolding.compare(text, part)
            let found = [
                order == 0, order < 0, CaseFolding.begins(text, with: part), CaseFolding.ends(text, with: part),
                CaseFolding.contains(text, part),
            ]
            #expect(found == expected, "seed \(seed): \(text.debugDescription) and \(part.debugDescription)")
        }
    }

    @Test(arguments: [
        ("?K*", "\u{C9}k\u{212A}", true), ("\u{C9}*\u{10400}", "\u{E9}x\u{10428}", true), ("A?", "a", false),
    ])
    func likeFoldsPatternAndText(pattern: String, text: String, matches: Bool) {
        #expect(LikePattern.matches(pattern, text, ignoresCase: true) == matches)
    }

    @Test func nothingButThemselvesFoldsToWhatPatternsAreMadeOf() {
        for scalar in (0..<0x11_0000 as Range<UInt32>).lazy.compactMap(Unicode.Scalar.init) {
            let folded = CaseFolding.fold(scalar)
            if folded != scalar, folded == "*" || folded == "?" { Issue.record("U+\(String(scalar.value, radix: 16))") }
        }
    }

    @Test func membersAreFoundWhateverTheirCase() {
        let members: [Value] = [.null, .string("a"), .string("b\u{E9}"), .string("k")]
        let comparison = ValueComparison(.isIn, ignoresCase: true)
        for text in ["A", "B\u{C9}", "\u{212A}"] { #expect(comparison.isMember(.string(text), of: members)) }
        for text in ["", "b", "l"] { #expect(!comparison.isMember(.string(text), of: members)) }
        #expect(comparison.isMember(.null, of: members))
    }

    @Test func everyScalarFoldsAsUnicodesSimpleCaseFoldingSays() {
        for scalar in (0..<0x11_0000 as Range<UInt32>).lazy.compactMap(Unicode.Scalar.init) {
            let folded = CaseFolding.fold(scalar)
            let number = String(scalar.value, radix: 16)
            if CaseFolding.fold(folded) != folded { Issue.record("U+\(number) folds twice") }
            let properties = scalar.properties
            // U+1FBE and ι are one case, since their strings are canonically equal.
            if String(folded) != String(scalar), !properties.changesWhenCaseFolded {
                Issue.record("U+\(number) folds and has no case")
            }
            let (upper, lower) = (properties.uppercaseMapping, properties.lowercaseMapping)
            let isLong = upper.unicodeScalars.count > 1 || lower.unicodeScalars.count > 1
            if folded == scalar, properties.changesWhenCaseFolded, !isLong {
                Issue.record("U+\(number) does not fold")
            }
            // Both cases of a scalar fold alike, except for the dotless i, whose upper case is that of i.
            guard !isLong, scalar != "\u{131}" else { continue }
            if CaseFolding.fold(upper) != String(folded) || CaseFolding.fold(lower) != String(folded) {
                Issue.record("U+\(number) and its cases fold apart")
            }
        }
    }

    @Test(arguments: [
        ("ΟΔΟΣ", "οδος", true), ("οδοσ", "οδος", true), ("STRASSE", "straße", false), ("STRAẞE", "straße", true),
        ("İ", "i", false), ("İ", "ı", false), ("İ", "i\u{307}", false), ("I", "ı", false), ("ı", "ı", true),
        ("K", "\u{212A}", true), ("µ", "μ", true), ("ſ", "S", true), ("ﬁ", "fi", false), ("ǅ", "Ǆ", true),
        ("\u{13A0}", "\u{AB70}", true), ("\u{1FD3}", "\u{390}", true), ("\u{FB05}", "\u{FB06}", true),
        ("e\u{301}", "\u{E9}", false),
    ])
    func textsAreEqualThroughSimpleCaseFolding(left: String, right: String, isEqual: Bool) {
        #expect((CaseFolding.compare(left, right) == 0) == isEqual)
        #expect((Array(CaseFolding.fold(left).utf8) == Array(CaseFolding.fold(right).utf8)) == isEqual)
        #expect(LikePattern.matches(left, right, ignoresCase: true) == isEqual)
        #expect(CaseFolding.contains(left, right) == isEqual)
    }
}
