internal import SluiceModel

extension Lexer {
    /// Reads `T<seconds>:<nanoseconds>` since 1970; nil if something else begins here.
    mutating func secondsLiteral() throws(QueryError) -> Token.Kind? {
        let start = position
        position += 1
        guard let seconds = signedNumber(), byte() == UInt8(ascii: ":") else {
            position = start
            return nil
        }
        position += 1
        guard let nanoseconds = signedNumber() else {
            position = start
            return nil
        }
        guard let second = Int64(seconds), let nanosecond = Int64(nanoseconds), abs(nanosecond) < 1_000_000_000 else {
            throw QueryError(.syntax, "found a date beyond the range of 'T<seconds>:<nanoseconds>'", at: start)
        }
        guard second == 0 || nanosecond == 0 || (second < 0) == (nanosecond < 0) else {
            throw QueryError(.syntax, "found a date whose seconds and nanoseconds differ in sign", at: start)
        }
        return try date(seconds: second, nanoseconds: nanosecond, at: start)
    }

    /// Reads `Y-M-D@H:M:S[:nanoseconds]`, with `T` for `@`, or ISO 8601 with a fraction and a zone; nil if no date
    /// begins here.
    mutating func dateLiteral() throws(QueryError) -> Token.Kind? {
        let start = position
        guard let year = field(digits: 6), skip("-"), let month = field(digits: 2), skip("-"),
            let day = field(digits: 2)
        else {
            position = start
            return nil
        }
        guard skip("@") || skip("T") else {
            // Text like 2013-01-31 is meant as a date and not as a difference.
            let isDate = position - start == "2013-01-31".utf8.count && (1900...9999).contains(year)
            guard isDate, (1...12).contains(month), (1...31).contains(day) else {
                position = start
                return nil
            }
            throw QueryError(
                .syntax,
                "found a date without time; write \(text(start..<position))@00:00:00 (a difference has blanks)",
                at: start)
        }
        guard let hour = field(digits: 2), skip(":"), let minute = field(digits: 2), skip(":"),
            let second = field(digits: 2)
        else {
            throw QueryError(.syntax, "found a date without time; write 2013-01-31@10:00:00", at: start)
        }
        guard (1900...9999).contains(year) else {
            throw QueryError(
                .syntax,
                "found a date in the year \(year); dates span 1900 to 9999, others are T<seconds>:<nanoseconds>",
                at: start)
        }
        guard let days = CivilDate.daysSince1970(year: year, month: month, day: day), hour < 24, minute < 60,
            second < 60
        else {
            throw QueryError(.syntax, "found a date that does not exist", at: start)
        }
        let nanoseconds = try fraction(at: start)
        let zone = try zone(at: start)
        let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - zone
        if let next = byte(), Self.isIdentifierStart(next) || Self.isDigit(next) {
            throw QueryError(.syntax, "found a date followed by '\(text(position..<position + 1))'", at: start)
        }
        return try date(seconds: seconds, nanoseconds: nanoseconds, at: start)
    }

    /// The token of a date, which may be between two microseconds.
    private func date(seconds: Int64, nanoseconds: Int64, at start: Int) throws(QueryError) -> Token.Kind {
        let (micros, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let rest = (nanoseconds % 1_000 + 1_000) % 1_000
        let (sum, exceeded) = micros.addingReportingOverflow((nanoseconds - rest) / 1_000)
        guard !overflow, !exceeded else {
            throw QueryError(.syntax, "found a date beyond some 292,000 years from 1970", at: start)
        }
        let date = Timestamp(microseconds: sum)
        return rest == 0 ? .value(.date(date)) : .instant(date, nanoseconds: Int(rest))
    }

    /// Reads the nanoseconds after `:` or the digits after `.`; 0 if neither follows. Digits below a nanosecond count
    /// as one nanosecond where the date would otherwise be a whole microsecond.
    private mutating func fraction(at start: Int) throws(QueryError) -> Int64 {
        if skip(":") {
            guard let nanoseconds = field(digits: 9) else {
                throw QueryError(.syntax, "found a date with ':' and no nanoseconds after its seconds", at: start)
            }
            return nanoseconds
        }
        guard byte() == UInt8(ascii: "."), let digit = byte(1), Self.isDigit(digit) else { return 0 }
        position += 1
        var nanoseconds: Int64 = 0
        var scale: Int64 = 100_000_000
        var isBeyond = false
        while let byte = byte(), Self.isDigit(byte) {
            nanoseconds += Int64(byte - 0x30) * scale
            isBeyond = isBeyond || scale == 0 && byte != 0x30
            scale /= 10
            position += 1
        }
        return isBeyond && nanoseconds % 1_000 == 0 ? nanoseconds + 1 : nanoseconds
    }

    /// Reads a time zone as seconds east of UTC; 0 if none follows.
    private mutating func zone(at start: Int) throws(QueryError) -> Int64 {
        if skip("Z") { return 0 }
        let sign: Int64 = byte() == UInt8(ascii: "-") ? -1 : 1
        guard byte() == UInt8(ascii: "+") || byte() == UInt8(ascii: "-"), let digit = byte(1), Self.isDigit(digit)
        else {
            return 0
        }
        position += 1
        guard let hours = field(digits: 2), hours < 24, skip(":"), let minutes = field(digits: 2), minutes < 60 else {
            throw QueryError(.syntax, "found a date with a malformed zone; write Z or +01:00", at: start)
        }
        return sign * (hours * 3_600 + minutes * 60)
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard byte() == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    /// Reads a number of at most this many digits; nil if there is none or it has more.
    private mutating func field(digits: Int) -> Int64? {
        let start = position
        while let byte = byte(), Self.isDigit(byte), position - start <= digits { position += 1 }
        return (1...digits).contains(position - start) ? Int64(text(start..<position)) : nil
    }

    private mutating func signedNumber() -> String? {
        let start = position
        if byte() == UInt8(ascii: "+") || byte() == UInt8(ascii: "-") { position += 1 }
        let digits = position
        while let byte = byte(), Self.isDigit(byte) { position += 1 }
        return position > digits ? text(start..<position) : nil
    }
}
