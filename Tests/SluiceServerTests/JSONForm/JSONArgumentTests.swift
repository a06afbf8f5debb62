import SluiceExchange
import SluiceJSON
import SluiceModel
import SluiceServer
import SluiceTransport
import Testing

/// What a server sends of a row is what a query of a page or a program takes as an argument.
struct JSONArgumentTests {
    private static let schema = try! Schema([
        ClassSchema(
            "Memo", primaryKey: nil,
            properties: [
                Property("flag", .scalar(.bool)), Property("number", .scalar(.int)),
                Property("single", .scalar(.float)),
                Property("double", .scalar(.double)), Property("decimal", .scalar(.decimal)),
                Property("text", .scalar(.string)), Property("date", .scalar(.date)), Property("data", .scalar(.data)),
                Property("uuid", .scalar(.uuid)), Property("object", .scalar(.objectID)),
            ])
    ])

    private static let rows = [
        #"{"flag":true,"number":"9007199254740993","single":0.1,"double":0.1,"decimal":"2.5","text":"7","#
            + #""date":"2013-01-01T00:00:00.25Z","data":"AQI=","uuid":"7ba7b810-9dad-11d1-80b4-00c04fd430c8","#
            + #""object":"df89347e370782e80000000000000001"}"#,
        #"{"flag":false,"number":-3,"single":"-Infinity","double":1e300,"decimal":"0.1","text":"null","#
            + #""date":"1815-12-10T00:00:00Z","data":"","uuid":"00000000-0000-0000-0000-000000000000","#
            + #""object":"00000000000000000000000000000001"}"#,
        #"{"flag":false,"number":"-9223372036854775808","single":3,"double":"NaN","decimal":"1E+30","text":"","#
            + #""date":"+012013-01-01T00:00:00Z","data":"/w==","uuid":"ffffffff-ffff-ffff-ffff-ffffffffffff","#
            + #""object":"ffffffffffffffffffffffffffffffff"}"#,
    ]

    @Test func `every value of a row finds the row again, and the place behind it`() async throws {
        try await JSONServer.run { network, server in
            try await server.access(to: "any").declare(Self.schema)
            let (client, _) = try await JSONServer.open(network)
            let inserts = Self.rows.map { #"{"op":"insert","class":"Memo","set":\#($0)}"# }
            client.write(1, "[\(inserts.joined(separator: ","))]")
            #expect(await client.next("ack") != nil)
            var number = 0
            func ask(_ query: String, _ arguments: [JSONValue]) async throws -> [String] {
                number += 1
                let message = JSONValue.object([
                    .init(name: "type", value: .string("sub")), .init(name: "id", value: .integer(Int64(number))),
                    .init(name: "q", value: .string(query)), .init(name: "args", value: .array(arguments)),
                ])
                client.send(message.text)
                while let answer = await client.next() {
                    switch answer["type"]?.string {
                    case "error":
                        Issue.record("\(query) \(arguments.map(\.text)): \(answer.text)")
                        return []
                    case "change" where answer["state"]?.string == "complete": return answer.idsInOrder
                    default: continue
                    }
                }
                return []
            }
            client.send(#"{"type":"sub","id":1,"q":"Memo"}"#)
            number = 1
            let memos = try #require(await client.change()?["put"]?.array)
            #expect(memos.count == Self.rows.count)
            for property in Self.schema[0].properties.map(\.name) {
                let order = try await ask("Memo SORT(\(property))", [])
                #expect(order.count == memos.count)
                for memo in memos {
                    let (value, key) = (try #require(memo[property]), try #require(memo["@id"]))
                    let place = try #require(order.firstIndex(of: key.string ?? ""))
                    let after = try await ask("Memo SORT(\(property)) AFTER($0, $1)", [value, key])
                    #expect(after == Array(order[(place + 1)...]), "\(property) AFTER \(value.text)")
                    let before = try await ask("Memo SORT(\(property)) BEFORE($0, $1)", [value, key])
                    #expect(before == Array(order[..<place]), "\(property) BEFORE \(value.text)")
                    guard value != .string("NaN") else { continue }
                    for (query, arguments) in [
                        ("Memo WHERE \(property) == $0", [value]), ("Memo WHERE \(property) IN {$0}", [value]),
                        ("Memo WHERE \(property) IN $0", [.array([value])]),
                    ] {
                        #expect(try await ask(query, arguments).contains(key.string ?? ""), "\(query): \(value.text)")
                    }
                    guard !["flag", "text", "data"].contains(property) else { continue }
                    let between = try await ask("Memo WHERE \(property) BETWEEN {$0, $0}", [value])
                    #expect(between.contains(key.string ?? ""), "\(property) BETWEEN \(value.text)")
                }
            }
        }
    }
}

extension JSONValue {
    /// The ids of the rows of a change, in the order of their places.
    fileprivate var idsInOrder: [String] {
        (self["put"]?.array ?? []).sorted { ($0["@sort"]?.string ?? "") < ($1["@sort"]?.string ?? "") }
            .map { $0["@id"]?.string ?? "" }
    }
}
