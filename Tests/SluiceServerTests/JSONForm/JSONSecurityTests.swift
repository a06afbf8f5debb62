import SluiceExchange
import SluiceJSON
import SluiceModel
import SluiceTransport
import Testing

@testable import SluiceServer

/// What a web page is not given in the JSON form: a connection from elsewhere, a login that it does not show, the
/// server's secrets without the right to them, and writes that the rules refuse.
struct JSONSecurityTests {
    private static let rules = """
        {"roles": {"admin": "$user.id == 'root'"},
         "database": {"reports": "$role.admin", "rules": "$role.admin", "jobs": "$role.admin"},
         "classes": {"Car": {"read": "TRUEPREDICATE", "create": "$role.admin", "update": "doors < 5 OR $role.admin",
                             "updateAfter": "TRUEPREDICATE"},
                     "Dealer": {"read": "TRUEPREDICATE", "create": "$role.admin"}}}
        """

    private static func ruled(_ configuration: inout ServerConfiguration) {
        configuration.isDevelopment = false
        configuration.rules = rules
        configuration.servesDashboard = true
        configuration.logins.custom = { request in
            if case .token(let name) = request { LoginUser(id: name) } else { nil }
        }
    }

    private static func login(_ user: String) -> String { ",\"credentials\":{\"token\":\"\(user)\"}" }

    // MARK: Where a page is from

    @Test func `a page connects from an origin that was named and from no other one`() async throws {
        try await JSONServer.run {
            $0.allowedOrigins = [WebOrigin("https://app.example")!]
        } _: { network, _ in
            for origin in [
                "https://evil.example", "null", "http://app.example", "https://app.example.evil.example", "",
            ] {
                let page = try JSONClient(network, headers: ["Origin": origin])
                page.send(#"{"type":"open"}"#)
                #expect(await page.end()?.httpStatus == 403, "\(origin)")
            }
            let page = try JSONClient(network, headers: ["Origin": "https://app.example"])
            page.send(#"{"type":"open"}"#)
            #expect(await page.next()?["type"] == .string("opened"))
        }
    }

    // MARK: Who is logged in

    @Test func `nobody is logged in by a cookie or by the address`() async throws {
        try await JSONServer.run(Self.ruled) { network, _ in
            for (url, headers) in [
                ("ws://server/any", ["Cookie": "token=root; session=root; Authorization=Bearer root"]),
                ("ws://server/any?token=root&access_token=root", [:]), ("ws://root:root@server/any", [:]),
            ] as [(String, HTTPHeaders)] {
                guard let page = try? JSONClient(network, url, headers: headers) else { continue }
                page.send(#"{"type":"open"}"#)
                let first = await page.next()
                #expect(first?["type"] != .string("opened"), "\(url)")
            }
        }
    }

    // MARK: What a login is good for

    @Test func `who lacks the rights is told nothing of the server and changes nothing in it`() async throws {
        try await JSONServer.run(Self.ruled) { network, _ in
            let (admin, _) = try await JSONServer.open(network, Self.login("root"))
            admin.send(#"{"type":"ask","id":1,"report":"rules"}"#)
            let held = try #require(await admin.next("answer")?["value"])
            let (client, _) = try await JSONServer.open(network, Self.login("ada"))
            let row = #"{"queue":"mail","class":"Car","key":"a"}"#
            let questions = [
                ("status", "\"\""), ("rules", "\"\""), ("top", "{}"), ("sessions", "{}"),
                ("endSession", #"{"session":"1.1"}"#), ("databases", "{}"), ("health", "{}"), ("metrics", "{}"),
                ("log", #"{"after":0}"#), ("consumers", "{}"), ("queues", "{}"), ("dead", #"{"queue":"mail"}"#),
                ("verdict", #"{"user":"root","action":"read","class":"Car","key":"a"}"#),
                ("explainAs", #"{"user":"root","query":"Car"}"#), ("retry", row), ("discard", row),
                ("deploy", #"{"rules":"{\"classes\":{}}","trial":false}"#),
                ("deploy", #"{"rules":"{\"classes\":{}}","trial":true}"#),
            ]
            for (id, (report, argument)) in questions.enumerated() {
                client.send(#"{"type":"ask","id":\#(id + 1),"report":"\#(report)","argument":\#(argument)}"#)
                let answer = try #require(await client.next())
                #expect(answer["ask"] == .integer(Int64(id + 1)), "\(report): \(answer.text)")
                #expect(answer["code"] == .string("permissionDenied"), "\(report): \(answer.text)")
            }
            admin.send(#"{"type":"ask","id":2,"report":"rules"}"#)
            #expect(await admin.next("answer")?["value"] == held)
        }
    }

    @Test func `what a page writes is judged by the rules as any write`() async throws {
        try await JSONServer.run(Self.ruled) { network, _ in
            let (admin, _) = try await JSONServer.open(network, Self.login("root"))
            admin.write(1, JSONServer.cars)
            _ = await admin.next("ack")
            let (client, _) = try await JSONServer.open(network, Self.login("ada"))
            client.send(#"{"type":"sub","id":1,"q":"Car WHERE vin IN {'a', 'b', 'z'} SORT(vin)"}"#)
            _ = await client.change()
            let refused = [
                #"{"op":"insert","class":"Car","key":"z","set":{"doors":1}}"#,
                #"{"op":"update","class":"Car","key":"a","set":{"price":9}}"#,
                #"{"op":"delete","class":"Car","key":"b"}"#,
                #"{"op":"update","class":"Car","key":"b","set":{"price":9}},{"op":"delete","class":"Car","key":"b"}"#,
            ]
            for (number, operations) in refused.enumerated() {
                client.write(number + 1, "[\(operations)]")
                let rejected = try #require(await client.next())
                #expect(rejected["type"] == .string("rejected"), "\(operations): \(rejected.text)")
                #expect(rejected["seq"] == .integer(Int64(number + 1)))
                #expect(await client.next()?["type"] == .string("ack"), "nothing has changed")
            }
            client.write(5, #"[{"op":"update","class":"Car","key":"b","set":{"price":9}}]"#)
            #expect(await client.change()?.put == [#"{"@key":"b","price":9.0}"#])
        }
    }
}
