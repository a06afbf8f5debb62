import CSQLite
import SluiceModel
import TestSupport
import Testing

@testable import SluiceStorage

/// Lines that are sorted in little memory.
struct SortedLinesTests {
    private func all(_ lines: SortedLines, by byteCount: Int) throws -> [String] {
        var whole: [UInt8] = []
        while let piece = try lines.next(byteCount: byteCount) { whole += piece }
        #expect(try lines.next(byteCount: byteCount) == nil)
        return String(decoding: whole, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test(arguments: 1...10 as ClosedRange<UInt64>) func linesComeInTheOrderOfTheirPlaces(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let lines = try SortedLines(cacheSize: 16 << 10)
        var expected: [String: (place: String, line: String)] = [:]
        for turn in 0..<2_000 {
            let name = "n\(Int.random(in: 0..<600, using: &random))"
            let place = String(UInt64.random(in: 0..<1 << 40, using: &random), radix: 36) + name
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                try lines.remove(name)
                expected[name] = nil
            case 1:
                try lines.move(name, to: place)
                expected[name]?.place = place
            default:
                let line = "\(turn) " + String(repeating: "x", count: Int.random(in: 0..<300, using: &random))
                try lines.set(Array((line + "\n").utf8), named: name, at: place)
                expected[name] = (place, line)
            }
        }
        let right = expected.values.sorted { $0.place.utf8.lexicographicallyPrecedes($1.place.utf8) }.map(\.line)
        #expect(try all(lines, by: Int.random(in: 1..<5_000, using: &random)) == right)
    }

    @Test func noLinesAreNone() throws { #expect(try all(SortedLines(), by: 100) == []) }

    /// 64 MiB of lines, of which the cache holds a sixty-fourth.
    @Test func memoryDoesNotGrowWithTheLines() throws {
        let lines = try SortedLines(cacheSize: 1 << 20)
        let filler = [UInt8](repeating: 0x78, count: 64 << 10)
        var most: Int32 = 0
        func measure() throws {
            var (now, highest): (Int32, Int32) = (0, 0)
            sqlite3_db_status(lines.connection.handle, SQLITE_DBSTATUS_CACHE_USED, &now, &highest, 0)
            most = max(most, now)
        }
        for number in 0..<1_024 {
            let text = String(number * 7_919 % 1_024)
            let place = String(repeating: "0", count: 5 - text.utf8.count) + text
            try lines.set(Array(text.utf8) + filler + [0x0A], named: text, at: place)
            if number % 64 == 0 { try measure() }
        }
        var next = 0
        var count = 0
        while let piece = try lines.next(byteCount: 1 << 16) {
            count += piece.count
            #expect(piece.starts(with: Array(String(next).utf8)), "line \(next)")
            next += 1
            if next % 64 == 0 { try measure() }
        }
        #expect(next == 1_024 && count > 64 << 20)
        #expect(most > 0 && most < 4 << 20, "\(most) bytes")
    }
}
