import FoundationEssentials
import SluiceJSON
import SluiceModel
import Testing

@testable import SluiceExchange

struct ValueTextTests {
    private func bytes<Result>(_ text: String, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows -> Result
    {
        try Array(text.utf8).withUnsafeBufferPointer(body)
    }

    @Test(
        arguments: [
            ("0", 0), ("-7", -7), ("9223372036854775807", .max), ("-9223372036854775808", .min),
            ("9223372036854775808", nil), ("007", nil), ("-0", nil), ("+1", nil), ("", nil), ("-", nil), ("1.0", nil),
            ("12a", nil), ("99999999999999999999", nil),
        ] as [(String, Int64?)])
    func integersAreTakenWhenTheyComeBackTheSame(text: String, expected: Int64?) {
        #expect(bytes(text, NumberText.integer) == expected)
    }

    @Test(arguments: [
        "0", "-1.5", "10.357019999999999", "41.1304722", "1e22", "1E-7", "123456789012345678", "0.1",
        "1.7976931348623157e308",
        "9007199254740993", "0.000000000000000000000000123", "-0.0",
    ])
    func doublesAreRoundedCorrectly(text: String) {
        #expect(bytes(text, NumberText.double)?.bitPattern == Double(text)?.bitPattern)
    }

    @Test(arguments: ["", "-", ".5", "5.", "1e", "1e+", "0x10", "nan", "inf", "1_0", "00.5", "1e999", " 1"])
    func whatIsNoNumberIsNoDouble(text: String) {
        #expect(bytes(text, NumberText.double) == nil)
    }

    @Test(arguments: [
        "2013-01-01T10:00:00Z", "2012-02-29", "2013-01-01T10:00:00.123Z", "2013-01-01T10:00:00+02:00",
        "1969-12-31T23:59:59Z",
    ])
    func datesAreTaken(text: String) {
        #expect(bytes(text, NumberText.date) == Timestamp(iso8601: text))
        #expect(Timestamp(iso8601: text) != nil)
    }

    @Test(arguments: [
        "2013-02-29T10:00:00Z", "2013-13-01T10:00:00Z", "2013-01-01T24:00:00Z", "2013-1-1", "20130101T100000Z",
    ])
    func datesThatDoNotExistAreNone(text: String) {
        #expect(bytes(text, NumberText.date) == nil)
    }

    @Test(arguments: [
        (PropertyType.scalar(.int), Value.int(-5)), (.scalar(.double), .double(0.1)), (.scalar(.double), .double(.nan)),
        (.scalar(.double), .double(.infinity)), (.scalar(.float), .float(3.25)), (.scalar(.bool), .bool(true)),
        (.scalar(.string), .string("NA")), (.scalar(.string), .string("")), (.scalar(.data), .data([1, 2, 3])),
        (.scalar(.date), .date(Timestamp(microseconds: 1_357_034_400_123_456))), (.scalar(.decimal), .decimal(12.75)),
        (.scalar(.objectID), .objectID(ObjectID(high: 1, low: 2))), (.scalar(.int, isOptional: true), .null),
        (.link("Plane"), .link(.string("N14228"))), (.link("Plane"), .null),
        (.links("Plane"), .list([.link(.string("a,b"))])),
        (PropertyType(.scalar(.int), container: .list, isOptional: true), .list([.int(1), .null])),
        (PropertyType(.scalar(.string), container: .set), .set(of: [.string("b"), .string("a")])),
        (PropertyType(.scalar(.double), container: .map), .map(ValueMap([(key: "x", value: .double(2))]))),
    ])
    func textAndJSONReadBackTheSame(type: PropertyType, value: Value) throws {
        let codec = PropertyCodec(type, targetKeyType: .string)
        #expect(try bytes(PlainText.text(of: value)) { try codec.value(text: $0) } == value)
        var writer = JSONWriter()
        writer.write(value)
        #expect(try codec.value(json: JSONParser.parse(String(decoding: writer.bytes, as: UTF8.self))) == value)
    }

    @Test(arguments: [
        (PropertyType.scalar(.int), "1.5", "'1.5' is not of type int"), (.scalar(.int), "NA", "allows no null"),
        (.scalar(.date), "yesterday", "2013-01-01T10:00:00Z"),
        (.link("Plane"), "x", "a key of Plane, which is of type int"),
        (.scalar(.bool), "yes", "not of type bool"), (PropertyType(.scalar(.int), container: .list), "[1", "not JSON"),
    ])
    func whatDoesNotFitIsExplained(type: PropertyType, text: String, message: String) {
        let codec = PropertyCodec(type, targetKeyType: .int)
        let error = #expect(throws: ConversionError.self) { try bytes(text) { try codec.value(text: $0) } }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }
}
