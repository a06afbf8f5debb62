extension Timestamp: CustomStringConvertible {
    /// ISO 8601 in UTC: `2013-01-01T10:00:00Z`, with as many fractional digits as needed (none, 3 or 6).
    public var description: String {
        let (seconds, fraction) = microseconds.quotientAndRemainderFloored(dividingBy: 1_000_000)
        let (days, second) = seconds.quotientAndRemainderFloored(dividingBy: 86_400)
        let (year, month, day) = CivilDate.components(daysSince1970: days)
        var text = year < 0 || year > 9999 ? (year < 0 ? "-" : "+") + Self.pad(abs(year), 6) : Self.pad(year, 4)
        text += "-\(Self.pad(month, 2))-\(Self.pad(day, 2))T"
        text += "\(Self.pad(second / 3600, 2)):\(Self.pad(second / 60 % 60, 2)):\(Self.pad(second % 60, 2))"
        if fraction % 1000 != 0 {
            text += "." + Self.pad(fraction, 6)
        } else if fraction != 0 {
            text += "." + Self.pad(fraction / 1000, 3)
        }
        return text + "Z"
    }

    /// Parses `YYYY-MM-DD`, optionally followed by `T` or a space, `HH:MM[:SS[.fraction]]`, and `Z` or `±HH[:MM]` (UTC
    /// if absent). A signed year has six digits. Nil for anything else, and for a date that does not exist.
    public init?(iso8601 text: some StringProtocol) {
        var scanner = DigitScanner(Array(text.utf8))
        guard let year = scanner.year(), scanner.skip("-"), let month = scanner.number(digits: 2), scanner.skip("-"),
            let day = scanner.number(digits: 2), let days = CivilDate.daysSince1970(year: year, month: month, day: day)
        else { return nil }
        var second: Int64 = 0
        var fraction: Int64 = 0
        var carry: Int64 = 0
        if !scanner.isAtEnd {
            guard scanner.skip("T") || scanner.skip("t") || scanner.skip(" "),
                let hour = scanner.number(digits: 2), hour < 24, scanner.skip(":"),
                let minute = scanner.number(digits: 2), minute < 60
            else { return nil }
            second = hour * 3600 + minute * 60
            if scanner.skip(":") {
                guard let seconds = scanner.number(digits: 2), seconds < 60 else { return nil }
                second += seconds
                if scanner.skip(".") {
                    guard let micros = scanner.fraction() else { return nil }
                    (carry, fraction) = micros.quotientAndRemainder(dividingBy: 1_000_000)
                }
            }
            guard let offset = scanner.zone() else { return nil }
            second -= offset
        }
        guard scanner.isAtEnd else { return nil }
        // Computed in 128 bits, since the earliest timestamps are below the range of 64 until their fraction is added.
        let seconds = Int128(days) * 86_400 + Int128(second + carry)
        guard let sum = Int64(exactly: seconds * 1_000_000 + Int128(fraction)) else { return nil }
        self.init(microseconds: sum)
    }

    private static func pad(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

/// Conversions between dates of the proleptic Gregorian calendar and numbers of days (Howard Hinnant,
/// "chrono-compatible low-level date algorithms").
package enum CivilDate {
    /// Days since 1970-01-01; nil if the day does not exist.
    package static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64? {
        guard (1...12).contains(month), day >= 1, day <= length(ofMonth: month, year: year) else { return nil }
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted.quotientAndRemainderFloored(dividingBy: 400).quotient
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// The year, month and day of a number of days since 1970-01-01.
    package static func components(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = (days + 719_468).quotientAndRemainderFloored(dividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }

    private static func length(ofMonth month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension Int64 {
    /// Division that rounds toward negative infinity, so that the remainder is never negative.
    fileprivate func quotientAndRemainderFloored(dividingBy divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

/// Reads numbers of a fixed number of digits from bytes.
private struct DigitScanner {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    mutating func number(digits: Int) -> Int64? {
        guard position + digits <= bytes.count else { return nil }
        var value: Int64 = 0
        for byte in bytes[position..<position + digits] {
            guard byte >= 0x30, byte <= 0x39 else { return nil }
            value = value * 10 + Int64(byte - 0x30)
        }
        position += digits
        return value
    }

    mutating func year() -> Int64? {
        if skip("-") { return number(digits: 6).map { -$0 } }
        return skip("+") ? number(digits: 6) : number(digits: 4)
    }

    /// The microseconds of a decimal fraction, rounded half up; 1,000,000 if it rounds up to a whole second.
    mutating func fraction() -> Int64? {
        var value: Int64 = 0
        var count = 0
        while position < bytes.count, bytes[position] >= 0x30, bytes[position] <= 0x39 {
            let digit = Int64(bytes[position] - 0x30)
            if count < 6 { value = value * 10 + digit } else if count == 6, digit >= 5 { value += 1 }
            count += 1
            position += 1
        }
        guard count > 0 else { return nil }
        for _ in 0..<max(0, 6 - count) { value *= 10 }
        return value
    }

    /// Seconds east of UTC; nil if there is no valid zone.
    mutating func zone() -> Int64? {
        if isAtEnd || skip("Z") || skip("z") { return 0 }
        let sign: Int64
        if skip("+") { sign = 1 } else if skip("-") { sign = -1 } else { return nil }
        guard let hours = number(digits: 2), hours < 24 else { return nil }
        var minutes: Int64 = 0
        if !isAtEnd {
            _ = skip(":")
            guard let number = number(digits: 2), number < 60 else { return nil }
            minutes = number
        }
        return sign * (hours * 3600 + minutes * 60)
    }
}
