import FoundationEssentials
import SluiceModel
import Testing

struct TimestampTests {
    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("1969-12-31T23:59:59.999999Z", -1),
            ("2013-01-01T10:00:00Z", 1_357_034_400_000_000), ("2013-01-01T10:00:00.250Z", 1_357_034_400_250_000),
            ("2013-01-01T10:00:00.000001Z", 1_357_034_400_000_001), ("2000-02-29T00:00:00Z", 951_782_400_000_000),
            ("0000-01-01T00:00:00Z", -62_167_219_200_000_000), ("9999-12-31T23:59:59Z", 253_402_300_799_000_000),
            ("+010000-01-01T00:00:00Z", 253_402_300_800_000_000), ("-000001-12-31T00:00:00Z", -62_167_305_600_000_000),
        ] as [(String, Int64)])
    func aTimestampPrintsItsCanonicalFormAndParsesBack(text: String, microseconds: Int64) {
        #expect(Timestamp(microseconds: microseconds).description == text)
        #expect(Timestamp(iso8601: text)?.microseconds == microseconds)
    }

    @Test(arguments: [
        ("2013-01-01", "2013-01-01T00:00:00Z"), ("2013-01-01 10:00", "2013-01-01T10:00:00Z"),
        ("2013-01-01t10:00:05z", "2013-01-01T10:00:05Z"), ("2013-01-01T10:00:05", "2013-01-01T10:00:05Z"),
        ("2013-01-01T10:00:00+02:00", "2013-01-01T08:00:00Z"), ("2013-01-01T10:00:00-0130", "2013-01-01T11:30:00Z"),
        ("2013-01-01T00:30:00+01", "2012-12-31T23:30:00Z"), ("2013-01-01T10:00:00.5Z", "2013-01-01T10:00:00.500Z"),
        ("2013-01-01T10:00:00.0000004Z", "2013-01-01T10:00:00Z"),
        ("2013-01-01T10:00:00.0000005Z", "2013-01-01T10:00:00.000001Z"),
        ("2013-01-01T10:00:00.00000049Z", "2013-01-01T10:00:00Z"),
        ("2013-12-31T23:59:59.9999995Z", "2014-01-01T00:00:00Z"),
    ])
    func otherFormsAreReadAndFractionsRoundedToMicroseconds(text: String, canonical: String) {
        #expect(Timestamp(iso8601: text)?.description == canonical)
    }

    @Test(arguments: [
        "", "2013", "2013-1-1", "2013-00-01", "2013-13-01", "2013-01-00", "2013-01-32", "2013-04-31", "2013-02-29",
        "1900-02-29", "2013-01-01T", "2013-01-01T10", "2013-01-01T24:00", "2013-01-01T10:60", "2013-01-01T10:00:60Z",
        "2013-01-01T10:00:00.Z", "2013-01-01T10:00:00X", "2013-01-01T10:00:00+24:00", "2013-01-01T10:00:00+01:60",
        "2013-01-01T10:00:00Z ", " 2013-01-01", "2013-01-01x10:00", "10000-01-01", "+10000-01-01", "+999999-01-01",
        "-999999-01-01",
    ])
    func aMalformedTextADateThatDoesNotExistAndOneOutOfRangeAreNil(text: String) {
        #expect(Timestamp(iso8601: text) == nil)
    }

    @Test(arguments: [Int64.min, .max, -1, 0, 1, 999, 1000, -62_167_219_200_000_001])
    func everyTimestampSurvivesItsText(microseconds: Int64) {
        let stamp = Timestamp(microseconds: microseconds)
        #expect(Timestamp(iso8601: stamp.description) == stamp)
    }

    @Test(
        arguments: [
            (1.5, 1_500_000), (-0.000_001_4, -1), (0.000_000_6, 1), (.nan, 0), (.infinity, .max), (-.infinity, .min),
            (1e300, .max),
        ] as [(Double, Int64)])
    func aDateBecomesTheNearestTimestamp(seconds: Double, microseconds: Int64) {
        #expect(Timestamp(Date(timeIntervalSince1970: seconds)).microseconds == microseconds)
    }
}

struct CivilDateTests {
    /// From 1 January of `year`, which is `first` days after 1970-01-01, through `count` years.
    @Test(arguments: [(1896, -27_028, 510), (-401, -865_990, 810)] as [(Int64, Int64, Int)])
    func daysConvertBothWaysOnAWalkOverTheCalendar(year: Int64, first: Int64, count: Int) {
        var days = first
        for year in year..<year + Int64(count) {
            let isLeap = year % 4 == 0 && year % 100 != 0 || year % 400 == 0
            for (month, length) in [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].enumerated() {
                let month = Int64(month + 1)
                for day in 1...Int64(length) {
                    let found = CivilDate.components(daysSince1970: days)
                    guard found == (year, month, day),
                        CivilDate.daysSince1970(year: year, month: month, day: day) == days
                    else {
                        Issue.record("\(year)-\(month)-\(day), day \(days), became \(found)")
                        return
                    }
                    days += 1
                }
                if let beyond = CivilDate.daysSince1970(year: year, month: month, day: Int64(length) + 1) {
                    Issue.record("\(year)-\(month)-\(length + 1) became day \(beyond)")
                    return
                }
            }
        }
    }
}
