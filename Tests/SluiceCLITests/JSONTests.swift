import FoundationEssentials
import SluiceJSON
import SluiceModel
import Testing

@testable import SluiceCLI

struct JSONTests {
    @Test(arguments: [
        (#"{"b":1,"a":[true,false,null]}"#, #"{"b":1,"a":[true,false,null]}"#),
        (" [ 9223372036854775807 , -9223372036854775808 ] ", "[9223372036854775807,-9223372036854775808]"),
        ("[9223372036854775808,1.50,-0,1e5,0]", "[9223372036854775808,1.50,-0,1e5,0]"),
        (#""a\/b\u00e9\ud83d\ude00\n\u0001""#, #""a/bé😀\n\u0001""#),
        (#"{"":{}}"#, #"{"":{}}"#),
    ])
    func everythingComesBack(text: String, expected: String) throws {
        #expect(try JSONParser.parse(text).text == expected)
    }

    @Test func integersAndOtherNumbersAreTold() throws {
        #expect(try JSONParser.parse("[1,1.0,1e0]") == .array([.integer(1), .number("1.0"), .number("1e0")]))
    }

    @Test(arguments: [
        ("", 1), ("{", 2), ("[1,]", 4), ("{\"a\":1,}", 8), ("{a:1}", 2), ("01", 3), ("1.", 3), ("1e", 3), ("+1", 1),
        ("tru", 1), ("[1] 2", 5), ("\"a", 3), ("\"\u{01}\"", 2), (#""\x""#, 4), (#""\ud800""#, 8),
        (#"{"a":1,"a":2}"#, 8),
        ("// x", 1), ("NaN", 1),
    ])
    func whatIsNotJSONIsRefusedWhereItIs(text: String, position: Int) {
        let error = #expect(throws: JSONError.self) { try JSONParser.parse(text) }
        #expect(error?.position == position)
    }

    /// Lines that partly repeat the previous ones: with names swapped, missing, added, escaped, repeated and nested.
    @Test func linesLikeTheOnesBeforeReadTheSame() throws {
        let many = (0..<40).map { "\"m\($0)\":\($0)" }.joined(separator: ",")
        let lines = [
            #"{"a":1,"b":{"a":2},"é":"x"}"#, #"{"a":3,"b":[{"b":1}],"é":"ü"}"#, #"{ "b" : 1 , "a" : 2 }"#,
            #"{"b":1,"a":2,"c":3}"#, #"{"b":1,"\u0061":2,"c":3}"#, #"{"b":1,"a\"":2}"#, #"{"b":1,"a\"":3,"a":4}"#, "{}",
            #"{"b":1,"b":2}"#, #"{"b":1,"a\"":3,"b":2}"#, #"{"b":1,"a\"" 3}"#, #"{"b":1,"a"#, "{\(many)}",
            "{\(many),\"x\":1}",
            "{\(many),\"m7\":1}", "{\(many),\"x\":1,\"x\":2}",
        ]
        let shape = JSONShape()
        func parse(_ line: String, _ shape: JSONShape?) -> Result<JSONValue, JSONError> {
            Array(line.utf8).withUnsafeBufferPointer { bytes in
                Result { () throws(JSONError) in try JSONParser.parse(bytes, shape: shape) }
            }
        }
        for line in lines + lines + lines { #expect(parse(line, shape) == parse(line, nil), "\(line)") }
    }

    @Test func depthIsLimited() {
        let text = String(repeating: "[", count: 100_000)
        #expect(throws: JSONError.self) { try JSONParser.parse(text) }
    }

    @Test func strayBytesAreRefused() {
        let bytes: [UInt8] = [0x22, 0xFF, 0x22]
        #expect(throws: JSONError.self) { try bytes.withUnsafeBufferPointer { try JSONParser.parse($0) } }
    }

    @Test(arguments: [
        (Value.double(0.1), "0.1"), (.double(.nan), "\"NaN\""), (.double(-.infinity), "\"-Infinity\""),
        (.double(1e300), "1e+300"), (.double(5), "5.0"), (.float(0.1), "0.1"), (.int(.min), "-9223372036854775808"),
        (.string("a/\"b\"\\"), #""a/\"b\"\\""#), (.data([0, 255]), "\"AP8=\""), (.null, "null"),
        (.date(Timestamp(microseconds: 0)), "\"1970-01-01T00:00:00Z\""), (.link(.int(7)), "7"),
        (.link(.string("N1")), "\"N1\""), (.list([.int(1), .null]), "[1,null]"),
        (.map(ValueMap([(key: "k", value: .bool(true))])), #"{"k":true}"#), (.decimal(1.5), "\"1.5\""),
    ])
    func valuesHaveOneForm(value: Value, expected: String) {
        var writer = JSONWriter()
        writer.write(value)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == expected)
    }

    @Test func doublesOfAllSizesReadBackTheSame() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let number = Double(bitPattern: generator.next())
            guard number.isFinite else { continue }
            var writer = JSONWriter()
            writer.write(.double(number))
            let codec = PropertyCodec(.scalar(.double), targetKeyType: .objectID)
            let json = try JSONParser.parse(String(decoding: writer.bytes, as: UTF8.self))
            #expect(try codec.value(json: json) == .double(number))
        }
    }
}
