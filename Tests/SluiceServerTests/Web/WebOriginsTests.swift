import SluiceTransport
import Testing

@testable import SluiceServer

struct WebOriginsTests {
    private func request(_ host: String, _ origin: String?, json: Bool = true) -> HTTPRequest {
        var headers: HTTPHeaders = ["Host": host]
        if let origin { headers.append("Origin", origin) }
        headers.append("Sec-WebSocket-Protocol", json ? "sluice.json.1" : "sluice.1")
        return HTTPRequest(method: "GET", target: "/nyc", headers: headers)
    }

    private func takes(_ origins: WebOrigins, _ request: HTTPRequest) -> Bool {
        origins.refusal(ofConnection: request) == nil
    }

    @Test func originsAreReadAsBrowsersWriteThem() {
        #expect(WebOrigin("https://App.example:443")?.description == "https://app.example")
        #expect(WebOrigin("http://localhost:5173")?.description == "http://localhost:5173")
        #expect(WebOrigin("http://[::1]:80")?.description == "http://[::1]")
        for text in [
            "", "null", "app.example", "ftp://a", "https://", "https://a/", "https://a/b", "https://u@a", "https://a:0",
            "https://a:x", "https://a b", "http://[::1", "http://[::1]x",
        ] {
            #expect(WebOrigin(text) == nil, "\(text)")
        }
    }

    @Test func pagesConnectFromTheServersOwnOriginAndNamedOnesAlone() throws {
        let origins = WebOrigins(
            host: "127.0.0.1", usesTLS: false, allowed: [try #require(WebOrigin("https://app.example"))])
        #expect(takes(origins, request("127.0.0.1:9080", nil)))
        #expect(takes(origins, request("127.0.0.1:9080", "http://127.0.0.1:9080")))
        #expect(takes(origins, request("localhost:9080", "http://localhost:9080")))
        #expect(takes(origins, request("127.0.0.1:9080", "https://app.example")))
        for other in [
            "https://127.0.0.1:9080", "http://127.0.0.1", "http://127.0.0.1:9081", "http://localhost:9080", "null",
            "http://app.example", "https://app.example:8443", "https://app.example.evil.example",
        ] {
            #expect(!takes(origins, request("127.0.0.1:9080", other)), "\(other)")
        }
        // Frames are for no page.
        #expect(!takes(origins, request("127.0.0.1:9080", "http://127.0.0.1:9080", json: false)))
        #expect(!takes(origins, request("127.0.0.1:9080", "https://app.example", json: false)))
        origins.allow([])
        #expect(!takes(origins, request("127.0.0.1:9080", "https://app.example")))
    }

    @Test func aNameThatWasMadeToLeadHereIsNoOriginOfTheServer() throws {
        let origins = WebOrigins(host: "0.0.0.0", usesTLS: true, allowed: [])
        #expect(takes(origins, request("192.0.2.7", "https://192.0.2.7")))
        #expect(!takes(origins, request("evil.example", "https://evil.example")))
        #expect(!takes(origins, request("127.0.0.1.evil.example:9080", "https://127.0.0.1.evil.example:9080")))
        let named = WebOrigins(host: "db.example", usesTLS: true, allowed: [])
        #expect(takes(named, request("db.example", "https://db.example")))
        let proxied = WebOrigins(
            host: "127.0.0.1", usesTLS: true, allowed: [try #require(WebOrigin("https://db.example"))])
        #expect(takes(proxied, request("db.example", "https://db.example")))
    }

    @Test func twoHeadersThatSayWhereAPageIsFromAreNone() {
        let origins = WebOrigins(host: "127.0.0.1", usesTLS: false, allowed: [])
        var twice = request("127.0.0.1:9080", "http://127.0.0.1:9080")
        twice.headers.append("Origin", "http://127.0.0.1:9080")
        #expect(!takes(origins, twice))
        var hosts = request("127.0.0.1:9080", "http://127.0.0.1:9080")
        hosts.headers.append("Host", "evil.example")
        #expect(!takes(origins, hosts))
    }
}
