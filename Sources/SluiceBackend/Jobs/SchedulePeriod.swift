package import SluiceModel

/// When something is to be done again and again.
public struct SchedulePeriod: Sendable, Hashable {
    private let length: Int64
    /// The first time after the beginning of 1970, in microseconds.
    private let offset: Int64

    private static let second: Int64 = 1_000_000

    private init(length: Int64, offset: Int64) {
        self.length = length
        self.offset = offset
    }

    /// Once in so many seconds, counted from the beginning of 1970 in UTC.
    ///
    /// - Parameter seconds: at least 1.
    public static func every(seconds: Int) -> SchedulePeriod {
        SchedulePeriod(length: Int64(max(1, seconds)) * second, offset: 0)
    }

    /// Each hour.
    ///
    /// - Parameter minute: 0 to 59; other numbers are taken modulo 60.
    public static func hourly(atMinute minute: Int) -> SchedulePeriod {
        let minute = Int64((minute % 60 + 60) % 60)
        return SchedulePeriod(length: 3_600 * second, offset: minute * 60 * second)
    }

    /// Each day at a time of day in UTC.
    ///
    /// - Parameters:
    ///   - hour: 0 to 23; other numbers are taken modulo 24.
    ///   - minute: 0 to 59; other numbers are taken modulo 60.
    public static func daily(at hour: Int, _ minute: Int = 0) -> SchedulePeriod {
        let (hour, minute) = (Int64((hour % 24 + 24) % 24), Int64((minute % 60 + 60) % 60))
        return SchedulePeriod(length: 86_400 * second, offset: (hour * 60 + minute) * 60 * second)
    }

    /// The first time after another.
    package func next(after time: Timestamp) -> Timestamp {
        let past = time.microseconds - offset
        let count = past >= 0 ? past / length : (past - length + 1) / length
        return Timestamp(microseconds: (count + 1) * length + offset)
    }

    /// The last time that is not after another.
    package func latest(upTo time: Timestamp) -> Timestamp {
        Timestamp(microseconds: next(after: time).microseconds - length)
    }

    /// The first of the last times that are not after another.
    ///
    /// - Parameter count: how many.
    func earliest(of count: Int, upTo time: Timestamp) -> Timestamp {
        let (span, isOver) = length.multipliedReportingOverflow(by: Int64(max(0, count - 1)))
        guard !isOver else { return Timestamp(microseconds: .min) }
        let (first, isBefore) = latest(upTo: time).microseconds.subtractingReportingOverflow(span)
        return Timestamp(microseconds: isBefore ? .min : first)
    }
}
