import SluiceModel
import TestSupport
import Testing

@testable import SluiceServer

/// Queries and writes by HTTP, and static files, over real sockets.
struct DatabasePagesTests {
    private static let schema = try! Schema([
        ClassSchema(
            "Car", primaryKey: "vin",
            properties: [Property("vin", .scalar(.string)), Property("price", .scalar(.double))])
    ])

    private func serve(
        _ change: (inout ServerConfiguration) -> Void = { _ in },
        _ body: (SyncServer, UInt16) async throws -> Void
    ) async throws {
        var configuration = ServerConfiguration(port: 0, isDevelopment: true)
        change(&configuration)
        let server = try SyncServer(configuration)
        let port = try server.start()
        let result: Result<Void, any Error>
        do {
            try await server.access(to: "any").declare(Self.schema)
            result = .success(try await body(server, port))
        } catch { result = .failure(error) }
        await server.stop()
        try result.get()
    }

    private func post(_ body: String, port: UInt16, _ lines: String...) async throws -> HTTPAnswer {
        let head = ["Content-Length: \(body.utf8.count)"] + lines
        return try await HTTPAnswer.post("/any/write", body, port: port, head)
    }

    @Test func aQueryIsAnsweredInItsOrderWithItsTotal() async throws {
        try await serve { _, port in
            let lines = (0..<5).map {
                #"{"op":"insert","class":"Car","key":"c\#($0)","set":{"price":\#(5 - $0)}}"#
            }.joined(separator: "\n")
            let written = try await post(lines, port: port)
            #expect(written.status == 200, "\(written.body)")
            #expect(written.body.hasPrefix("{\"v\":"))
            let answer = try await HTTPAnswer.get(
                "/any/query?q=Car+TOTAL+SORT(price%20ASC)%20LIMIT(2)", port: port)
            #expect(answer.status == 200)
            #expect(answer.headers.contains("Content-Type: application/jsonl; charset=utf-8"))
            let body = answer.unchunked.split(separator: "\n").map(String.init)
            #expect(body.count == 3)
            #expect(body.first?.hasSuffix(#","vin":"c4","price":1.0}"#) == true, "\(body)")
            #expect(body.last == #"{"@total":5}"#)
            let given = try await HTTPAnswer.get("/any/query?q=Car%20WHERE%20price%20%3C%20%240&args=[2]", port: port)
            #expect(given.unchunked.split(separator: "\n").count == 1)
            // As a program has the values of the last row that it was sent: a number may be a string.
            let page = try await HTTPAnswer.get(
                "/any/query?q=Car%20SORT(price)%20AFTER($0,$1)%20LIMIT(2)&args=[%222%22,%22c3%22]", port: port)
            #expect(page.unchunked.split(separator: "\n").count == 2, "\(page.body)")
        }
    }

    @Test func figuresAreLinesInTheOrderOfTheirGroups() async throws {
        try await serve { _, port in
            let lines = (0..<6).map {
                #"{"op":"insert","class":"Car","key":"c\#($0)","set":{"price":\#($0 % 3)}}"#
            }.joined(separator: "\n")
            #expect(try await post(lines, port: port).status == 200)
            let groups = try await HTTPAnswer.get(
                "/any/query?q=Car%20WHERE%20price%20%3C%20%240%20GROUP(price)%20AGGREGATE(@count,%20@min.price)%20"
                    + "SORT(price%20DESC)&args=[2]", port: port)
            #expect(groups.status == 200)
            #expect(
                groups.unchunked
                    == #"{"price":1.0,"@count":2,"@min.price":1.0}"# + "\n"
                    + #"{"price":0.0,"@count":2,"@min.price":0.0}"# + "\n")
            let whole = try await HTTPAnswer.get("/any/query?q=Car%20AGGREGATE(@count,@avg.price)", port: port)
            #expect(whole.unchunked == #"{"@count":6,"@avg.price":1.0}"# + "\n")
        }
    }

    @Test func whatGoesWrongHasItsStatus() async throws {
        try await serve { _, port in
            let query = try await HTTPAnswer.get("/any/query?q=Car%20WHERE%20prize%20%3E%201", port: port)
            #expect(query.status == 400)
            #expect(query.body.contains(#""code":"unknownName""#) && query.body.contains(#""position":10"#))
            let figures = try await HTTPAnswer.get("/any/query?q=Car%20AGGREGATE(@sum.vin)", port: port)
            #expect(figures.status == 400)
            #expect(figures.body.contains(#""position":19"#), "\(figures.body)")
            #expect(try await HTTPAnswer.get("/any/query", port: port).status == 400)
            #expect(try await HTTPAnswer.get("/any/other", port: port).status == 404)
            #expect(try await HTTPAnswer.get("/a.b/query?q=Car", port: port).status == 404)
            #expect(try await HTTPAnswer.get("/any/query?q=Car", port: port, method: "POST").status == 405)
            let line = try await post("{\"op\":\"delete\",\"class\":\"Car\",\"key\":\"x\"}\n{", port: port)
            #expect(line.status == 400)
            #expect(line.body.contains(#""line":2"#))
            let missing = try await post("{\"op\":\"delete\",\"class\":\"Car\",\"key\":\"x\"}", port: port)
            #expect(missing.status == 422)
            #expect(missing.body.contains("there is no Car with this key"))
        }
    }

    @Test func `a database that is not there is told as such, and is not made`() async throws {
        try await serve { _, port in
            let line = #"{"op":"upsert","class":"Car","key":"x"}"#
            for answer in [
                try await HTTPAnswer.get("/other/query?q=Car", port: port),
                try await HTTPAnswer.get("/other/query?q=Car%20WHERE%20price%20%3C%20%240&args=[2]", port: port),
                try await HTTPAnswer.post("/other/write", line, port: port, ["Content-Length: \(line.utf8.count)"]),
            ] {
                #expect(answer.status == 404, "\(answer.body)")
                #expect(answer.body.contains(#""code":"unknownDatabase""#), "\(answer.body)")
                #expect(answer.body.contains("the server has no database 'other'"), "\(answer.body)")
            }
            // One that is there lacks a class.
            let unknown = try await HTTPAnswer.get("/any/query?q=Ship", port: port)
            #expect(unknown.status == 400 && unknown.body.contains("there is no class 'Ship'"), "\(unknown.body)")
        }
    }

    @Test func whoDoesNotLogInIsToldToAndHasNothing() async throws {
        try await serve({ configuration in
            configuration.isDevelopment = false
            configuration.allowsEverything = true
            configuration.logins.sharedSecret = Array(repeating: 7, count: 32)
        }) { _, port in
            let answer = try await HTTPAnswer.get("/any/query?q=Car", port: port)
            #expect(answer.status == 401)
            #expect(answer.headers.contains { $0.hasPrefix("WWW-Authenticate:") })
            #expect(try await post("{\"op\":\"delete\",\"class\":\"Car\",\"key\":\"x\"}", port: port).status == 401)
            let wrong = try await HTTPAnswer.get("/any/query?q=Car", port: port, "Authorization: Bearer x")
            #expect(wrong.status == 401)
            #expect(try await HTTPAnswer.get("/_/", port: port).status == 404, "the dashboard is off")
            #expect(try await HTTPAnswer.get("/_/sluice.js", port: port).status == 200)
        }
    }

    @Test func requestsOfPagesOfOtherSitesAreRefused() async throws {
        try await serve({ $0.allowedOrigins = [WebOrigin("https://app.example")!] }) { _, port in
            let target = "/any/query?q=Car"
            func status(host: String = "localhost", _ lines: String...) async throws -> Int {
                try await HTTPAnswer.ask("GET", target, port: port, host: host, lines).status
            }
            #expect(try await status() == 200)
            #expect(try await status("Origin: https://evil.example") == 403)
            #expect(try await status("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors") == 403)
            #expect(try await status(host: "evil.example") == 421, "a name that leads to this machine")
            #expect(try await status("Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors") == 200)
            let allowed = try await HTTPAnswer.get(target, port: port, "Origin: https://app.example")
            #expect(allowed.status == 200)
            #expect(allowed.headers.contains("Access-Control-Allow-Origin: https://app.example"))
            #expect(!allowed.headers.contains { $0.hasPrefix("Access-Control-Allow-Credentials") })
            let preflight = try await HTTPAnswer.get(
                "/any/write", port: port, method: "OPTIONS", "Origin: https://app.example")
            #expect(preflight.status == 204)
            #expect(preflight.headers.contains("Access-Control-Allow-Methods: GET, POST"))
            let refused = try await HTTPAnswer.get(
                "/any/write", port: port, method: "OPTIONS", "Origin: https://evil.example")
            #expect(refused.status == 403)
            #expect(!refused.headers.contains { $0.hasPrefix("Access-Control-Allow") })
            let written = try await post("{}", port: port, "Origin: https://evil.example")
            #expect(written.status == 403)
        }
    }

    @Test func staticFilesComeWithTheirHeaders() async throws {
        try await serve { _, port in
            for (path, type) in [
                ("/_/", "text/html; charset=utf-8"), ("/_/app.js", "text/javascript; charset=utf-8"),
                ("/_/style.css", "text/css; charset=utf-8"), ("/_/sluice.js", "text/javascript; charset=utf-8"),
            ] {
                let answer = try await HTTPAnswer.get(path, port: port)
                #expect(answer.status == 200)
                for header in [
                    "Content-Type: \(type)", "X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer",
                    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
                        + "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; "
                        + "require-trusted-types-for 'script'",
                ] { #expect(answer.headers.contains(header), "\(path) lacks \(header)") }
                let tag = try #require(answer.headers.first { $0.hasPrefix("ETag: ") }).dropFirst(6)
                let again = try await HTTPAnswer.get(path, port: port, "If-None-Match: \(tag)")
                #expect(again.status == 304)
                #expect(again.body.isEmpty)
            }
            #expect(try await HTTPAnswer.get("/_", port: port).status == 302)
            #expect(try await HTTPAnswer.get("/_/", port: port, host: "evil.example").status == 421)
            #expect(try await HTTPAnswer.get("/_/../Package.swift", port: port).status == 404)
        }
    }

    @Test func answersSetNoCookies() async throws {
        try await serve { _, port in
            for path in ["/_/", "/_/sluice.js", "/any/query?q=Car", "/any/query?q=none"] {
                let answer = try await HTTPAnswer.get(path, port: port)
                #expect(!answer.headers.contains { $0.lowercased().hasPrefix("set-cookie") })
            }
        }
    }
}
