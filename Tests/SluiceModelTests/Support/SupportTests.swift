import SluiceModel
import Synchronization
import Testing

struct SupportTests {
    @Test func everyByteHasTwoLowerCaseDigitsAndComesBackFromEitherCase() {
        let bytes = (0...255).map { UInt8($0) }
        let text = Hexadecimal.encode(bytes)
        #expect(text.hasPrefix("000102") && text.hasSuffix("fdfeff") && text.count == 512)
        #expect(Hexadecimal.decode(text) == bytes)
        #expect(Hexadecimal.decode(text.uppercased()) == bytes)
        #expect(Hexadecimal.decode("") == [])
    }

    @Test(arguments: ["0", "abc", "0g", "g0", "0x00", " 00 ", "\u{FF10}0"])
    func oddOrForeignDigitsDecodeToNil(text: String) {
        #expect(Hexadecimal.decode(text) == nil)
    }

    @Test(arguments: LogLevel.allCases)
    func aSinkIsGivenTheLinesAtAndAboveItsLevelAndNoOtherIsMade(level: LogLevel) {
        let lines = LogCollector()
        let sink = LogSink(level: level) { lines.add("\($0.level) \($0.message) \($0.metadata.map(\.value))") }
        var made = 0
        func message() -> String {
            made += 1
            return "text"
        }
        for written in LogLevel.allCases { sink(written, message(), [("name", "value")]) }
        let expected = LogLevel.allCases.drop { $0 != level }
        #expect(lines.all == expected.map { "\($0) text [\"value\"]" })
        #expect(made == expected.count)
    }

    @Test func levelsOrderFromVerboseToError() {
        #expect(LogLevel.allCases.reversed().sorted() == [.verbose, .debug, .info, .warning, .error])
    }
}

private final class LogCollector: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) { lines.withLock { $0.append(line) } }
}
