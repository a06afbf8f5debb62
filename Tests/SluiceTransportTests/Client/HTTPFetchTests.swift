import Foundation
import TestSupport
import Testing

@testable import SluiceTransport

/// Documents fetched over HTTPS from a server of another make.
@Suite(.serialized, .enabled(if: Certificates.shared != nil, "the openssl tool is missing"))
struct HTTPFetchTests {
    private let certificates: Certificates

    init() throws { certificates = try #require(Certificates.shared) }

    private func fetch(
        _ url: String, trust: String = "ca.pem", _ change: (inout HTTPFetch.Options) -> Void = { _ in }
    ) async throws -> Result<[UInt8], TransportError> {
        var options = HTTPFetch.Options()
        options.trust = .authorities(files: [certificates.path(trust)])
        options.timeout = .seconds(60)
        options.byteCountMax = 100_000
        change(&options)
        let group = try EventLoopGroup(loopCount: 1)
        let loop = group.next()
        let result = await withCheckedContinuation { continuation in
            do throws(TransportError) {
                try HTTPFetch.get(url, options: options, loop: loop) { continuation.resume(returning: $0) }
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        group.stop()
        return result
    }

    private func withServer(_ name: String, _ body: (HTTPSServer) async throws -> Void) async throws {
        let keys = certificates.directory + "/keys-\(UInt64.random(in: .min ... .max)).json"
        try #"{"keys": []}"#.write(toFile: keys, atomically: true, encoding: .utf8)
        guard
            let server = try await HTTPSServer.start(
                certificate: certificates.path("\(name).pem"), key: certificates.path("\(name).key"), keys: keys)
        else { return }
        let result: Result<Void, any Error>
        do { result = .success(try await body(server)) } catch { result = .failure(error) }
        try await server.stop()
        try result.get()
    }

    @Test func aDocumentArrivesAndWhatIsNotOneIsRefused() async throws {
        try await withServer("good") { server in
            let document = try await fetch(server.url("/keys")).get()
            #expect(String(decoding: document, as: UTF8.self) == #"{"keys": []}"#)
            for path in ["/moved", "/large", "/endless", "/cut", "/missing"] {
                let result = try await fetch(server.url(path))
                #expect(throws: TransportError.self, "\(path)") { try result.get() }
            }
        }
    }

    @Test func aRedirectionIsNotFollowed() async throws {
        try await withServer("good") { server in
            guard case .failure(let error) = try await fetch(server.url("/moved")) else {
                Issue.record("a redirection was followed")
                return
            }
            #expect(error.message.contains("302"))
            #expect(try await server.process.line() == "/moved")
            _ = try await fetch(server.url("/missing"))
            // Nothing asked for what the redirection named.
            #expect(try await server.process.line() == "/missing")
        }
    }

    @Test func aServerThatSaysNothingIsGivenUp() async throws {
        try await withServer("good") { server in
            guard case .failure(let error) = try await fetch(server.url("/silent"), { $0.timeout = .milliseconds(300) })
            else {
                Issue.record("there was an answer")
                return
            }
            #expect(error.code == .timedOut)
        }
    }

    @Test func onlyATrustedServerOfThatNameIsAsked() async throws {
        for (name, trust) in [("other", "ca.pem"), ("expired", "ca.pem"), ("good", "self.pem")] {
            try await withServer(name) { server in
                let result = try await fetch(server.url("/keys"), trust: trust)
                #expect(throws: TransportError.self, "\(name)") { try result.get() }
            }
        }
    }

    @Test(arguments: ["http://127.0.0.1/keys", "ftp://127.0.0.1/keys", "https://", "keys.json"])
    func onlyHTTPSIsFetched(url: String) async throws {
        let result = try await fetch(url)
        #expect(throws: TransportError.self) { try result.get() }
    }
}
