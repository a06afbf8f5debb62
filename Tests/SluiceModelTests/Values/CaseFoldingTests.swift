import SluiceModel
import Testing

struct CaseFoldingTests {
    @Test(arguments: [
        ("", ""), ("abc 12_", "abc 12_"), ("ABC", "abc"), ("\u{C9}\u{C4}", "\u{E9}\u{E4}"),
        ("\u{3A3}", "\u{3C3}"), ("\u{DF}", "\u{DF}"), ("\u{130}", "\u{130}"), ("\u{212A}", "k"),
        ("E\u{301}", "e\u{301}"),
    ])
    func eachScalarFoldsAsUnicodesSimpleCaseFoldingSays(text: String, folded: String) {
        #expect(Array(CaseFolding.fold(text).utf8) == Array(folded.utf8))
    }

    @Test(arguments: ["\u{130}STANBUL", "Stra\u{DF}e", "\u{1F600}X"])
    func foldingKeepsTheNumberOfScalarsAndIsSettledAfterOnce(text: String) {
        let folded = CaseFolding.fold(text)
        #expect(folded.unicodeScalars.count == text.unicodeScalars.count)
        #expect(Array(CaseFolding.fold(folded).utf8) == Array(folded.utf8))
    }
}
