import SluiceJSON
import Testing

struct JSONParserTests {
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
        (#"{"type":"write","seq":7,"ops":[{"a":"\ud83d"}]}"#, ["type", "seq"]),
        (#"{"type":"ask","id":3}"#, ["type", "id"]),
        (#"{"id":3,"type":nul"#, ["id"]),
        (#" {"a" : [1, {"b": 2}] , "c":"#, ["a"]),
        ("[1]", []), ("", []), ("{", []), ("{}", []), (#"{"a":1,}"#, ["a"]),
    ])
    func `of a text with a fault the members before it are read`(text: String, names: [String]) {
        let members = Array(text.utf8).withUnsafeBufferPointer { JSONParser.leadingMembers($0) }
        #expect(members.map(\.name) == names)
    }
}
