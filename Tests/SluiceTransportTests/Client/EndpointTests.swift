import SluiceModel
import TestSupport
import Testing

@testable import SluiceTransport

@Suite struct EndpointTests {
    @Test(
        arguments: [
            ("ws://example.com", false, "example.com", 80, "/", "example.com"),
            ("WSS://example.com", true, "example.com", 443, "/", "example.com"),
            (
                "wss://example.com:8443/cars?token=a%20b", true, "example.com", 8443, "/cars?token=a%20b",
                "example.com:8443"
            ),
            ("ws://[::1]:9000/a/b", false, "::1", 9000, "/a/b", "[::1]:9000"),
            ("ws://[fe80::1]", false, "fe80::1", 80, "/", "[fe80::1]"),
            ("ws://host?x", false, "host", 80, "/?x", "host"),
        ] as [(String, Bool, String, UInt16, String, String)])
    func urlIsTakenApart(
        url: String, usesTLS: Bool, host: String, port: UInt16, target: String, authority: String
    ) throws {
        let endpoint = try Endpoint(url)
        #expect(endpoint.usesTLS == usesTLS)
        #expect(endpoint.host == host)
        #expect(endpoint.port == port)
        #expect(endpoint.target == target)
        #expect(endpoint.authority == authority)
    }

    @Test(arguments: [
        ("http://example.com", "its scheme is \"http\" instead of ws or wss"),
        ("example.com:80", "it should look like wss://HOST:PORT/PATH"),
        ("", "it should look like wss://HOST:PORT/PATH"),
        ("ws://", "it names no host"),
        ("ws://:80", "it names no host"),
        ("ws://host:0", "its port is \"0\", not a number from 1 to 65535"),
        ("ws://host:65536", "its port is \"65536\", not a number from 1 to 65535"),
        ("ws://host:", "its port is \"\", not a number from 1 to 65535"),
        ("ws://host:+80", "its port is \"+80\", not a number from 1 to 65535"),
        ("ws://::1", "an IPv6 address belongs into brackets"),
        ("ws://[::1", "the bracket around the IPv6 address is not closed"),
        ("ws://[host]", "what is in brackets is no IPv6 address"),
        ("ws://[::1]80", "after the IPv6 address there should be a colon and the port"),
        ("ws://user:pass@host", "user names and passwords do not belong into it"),
        ("ws://host/#a", "a WebSocket URL has no fragment (#)"),
        ("ws://ho st", "it has spaces, control characters or characters that need percent escapes"),
        ("ws://host/\r\nX: y", "it has spaces, control characters or characters that need percent escapes"),
    ])
    func badURLIsAClearError(url: String, reason: String) {
        let error = #expect(throws: TransportError.self) { _ = try Endpoint(url) }
        #expect(error?.code == .invalidURL)
        #expect(error?.message.hasSuffix(reason) == true, "\(error?.message ?? "")")
    }
}

@Suite struct ReconnectBackoffTests {
    @Test func withoutJitterDoublesFromOneSecondToFiveMinutes() {
        var backoff = ReconnectBackoff(jitter: 0)
        var generator = SeededGenerator(seed: 1)
        let delays = (0..<11).map { _ in backoff.delay(using: &generator) }
        #expect(delays == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map { .seconds($0) })
        backoff.reset()
        #expect(backoff.delay(using: &generator) == .seconds(1))
    }

    @Test(arguments: 0..<50 as Range<UInt64>)
    func jitterTakesAtMostAQuarter(seed: UInt64) {
        var backoff = ReconnectBackoff(initial: .seconds(8), maximum: .seconds(8))
        var generator = SeededGenerator(seed: seed)
        let delay = backoff.delay(using: &generator)
        #expect(delay <= .seconds(8) && delay >= .seconds(6), "seed \(seed): \(delay)")
    }
}
