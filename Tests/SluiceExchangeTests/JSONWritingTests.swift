import FoundationEssentials
import SluiceJSON
import SluiceModel
import Testing

@testable import SluiceExchange

struct JSONWritingTests {
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
