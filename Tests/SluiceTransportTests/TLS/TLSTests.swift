import Foundation
import SluiceModel
import TestSupport
import Testing

@testable import SluiceTransport

@Suite(.serialized, .enabled(if: Certificates.shared != nil, "the openssl tool is missing"))
struct TLSTests {
    private let certificates: Certificates

    init() throws { certificates = try #require(Certificates.shared) }

    /// Runs an echo server with TLS, and passes its port and its refusals to `body`.
    private func withServer(
        _ name: String?, _ body: (EventLoopGroup, UInt16, Observed<[TransportError]>) async throws -> Void
    ) async throws {
        let group = try EventLoopGroup(loopCount: 2)
        let refusals = Observed<[TransportError]>([])
        var options = WebSocketServerOptions()
        options.tls = name.map { certificates.server($0) }
        let server = try WebSocketServer.listen(
            host: "127.0.0.1", port: 0, options: options, group: group,
            hooks: ServerHooks(
                accept: { _, _ in .accept(Recorder.echo()) },
                didRefuse: { _, error in refusals.update { $0.append(error) } }))
        let result: Result<Void, any Error>
        do { result = .success(try await body(group, server.port, refusals)) } catch { result = .failure(error) }
        await server.stop(grace: .zero)
        group.stop()
        try result.get()
    }

    private func connect(
        _ url: String, _ trust: TLSTrust, _ group: EventLoopGroup
    ) throws -> (Recorder, any MessageConnection) {
        var options = WebSocketClientOptions()
        options.trust = trust
        let client = Recorder()
        let connection = try WebSocketClient.connect(
            to: try Endpoint(url), options: options, loop: group.next(), delegate: client)
        return (client, connection)
    }

    private var authority: TLSTrust { .authorities(files: [certificates.path("ca.pem")]) }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func knownAuthorityMessagesOfManySizesComeBack(host: String) async throws {
        try await withServer("good") { group, port, _ in
            let (client, connection) = try connect("wss://\(host):\(port)", authority, group)
            var generator = SeededGenerator(seed: 5)
            let messages = [0, 1, 100, 16_383, 16_384, 16_385, 65_536, 3, 4, 5, 3 << 20, 6].map { generator.bytes($0) }
            for message in messages { connection.send(SharedBuffer(message)) }
            #expect(try await client.received(messages.count) == messages)
            connection.close()
            #expect(try await client.closed() == nil)
        }
    }

    @Test func manySmallMessagesBothWaysKeepTheirOrder() async throws {
        try await withServer("good") { group, port, _ in
            let (client, connection) = try connect("wss://127.0.0.1:\(port)", authority, group)
            let messages = (0..<20_000).map {
                [UInt8($0 & 0xFF), UInt8($0 >> 8)] + [UInt8](repeating: 1, count: $0 % 300)
            }
            for message in messages { connection.send(SharedBuffer(message)) }
            #expect(try await client.received(messages.count) == messages)
        }
    }

    @Test(arguments: [
        (
            "good", "system", "127.0.0.1", TransportError.Code.untrustedCertificate,
            "self-signed or signed by an unknown authority"
        ),
        ("self", "ca", "127.0.0.1", .untrustedCertificate, "trust the file of the authority that signed it"),
        ("other", "ca", "127.0.0.1", .wrongHost, "not valid for host 127.0.0.1"),
        ("other", "ca", "localhost", .wrongHost, "connect by a name that it has"),
        ("expired", "ca", "127.0.0.1", .certificateExpired, "has expired"),
        ("good", "pin-self", "127.0.0.1", .untrustedCertificate, "unknown authority"),
        ("good", "self-signed-only", "127.0.0.1", .untrustedCertificate, "not self-signed"),
    ])
    func untrustedServerIsRefusedInPlainWords(
        server: String, trust: String, host: String, code: TransportError.Code, words: String
    ) async throws {
        try await withServer(server) { group, port, _ in
            let (client, connection) = try connect("wss://\(host):\(port)", self.trust(trust), group)
            connection.send(SharedBuffer([1]))
            let error = try await client.closed()
            #expect(error?.code == code)
            #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
            #expect(error?.outlook == .lasting)
            #expect(client.state.value.openCount == 0)
        }
    }

    @Test(arguments: [
        ("self", "pin-self", "127.0.0.1"), ("expired", "pin-ca", "127.0.0.1"), ("other", "pin-other", "127.0.0.1"),
        ("self", "self-signed-only", "127.0.0.1"), ("good", "pin-good", "localhost"),
    ])
    func pinnedOrSelfSignedServerIsAccepted(server: String, trust: String, host: String) async throws {
        // The server need not send its whole chain, since the pinned certificate is the anchor.
        try await withServer(server) { group, port, _ in
            let (client, connection) = try connect("wss://\(host):\(port)", self.trust(trust), group)
            connection.send(SharedBuffer([1]))
            #expect(try await client.received(1) == [[1]])
        }
    }

    private func trust(_ name: String) -> TLSTrust {
        switch name {
        case "system": .systemAuthorities
        case "ca": authority
        case "self-signed-only": .selfSignedOnly
        default: .pinned(file: certificates.path("\(name.dropFirst("pin-".count)).pem"))
        }
    }

    @Test func plainClientAtATLSPortIsToldToUseTLS() async throws {
        try await withServer("good") { group, port, refusals in
            let (client, _) = try connect("ws://127.0.0.1:\(port)", .systemAuthorities, group)
            let error = try await client.closed()
            #expect(error?.code == .tlsMismatch)
            #expect(error?.message.contains("this port speaks TLS: connect with wss:// instead of ws://") == true)
            let seen = try await refusals.wait(for: "the refusal") { !$0.isEmpty }
            #expect(seen[0].code == .tlsMismatch)
        }
    }

    @Test func tlsClientAtAPlainPortIsToldToUseNone() async throws {
        try await withServer(nil) { group, port, _ in
            let (client, _) = try connect("wss://127.0.0.1:\(port)", .systemAuthorities, group)
            let error = try await client.closed()
            #expect(error?.code == .tlsMismatch)
            #expect(error?.message.contains("does not speak TLS: connect with ws:// instead of wss://") == true)
        }
    }

    @Test func garbageAtATLSPortEndsQuietly() async throws {
        try await withServer("good") { _, port, refusals in
            let raw = try RawSocket(port: port)
            raw.send([UInt8](repeating: 0xEE, count: 600))
            _ = raw.receiveUntilEnd()
            _ = try await refusals.wait(for: "the refusal") { !$0.isEmpty }
        }
    }

    @Test(arguments: [
        ("missing.pem", "good.key", "missing.pem cannot be read: No such file"),
        ("good.pem", "missing.key", "missing.key cannot be read: No such file"),
        ("garbage.pem", "good.key", "garbage.pem has no certificate in PEM form"),
        ("good.pem", "garbage.pem", "garbage.pem has no unencrypted key in PEM form"),
        ("good.pem", "other.key", "does not belong to the first certificate in"),
    ])
    func unusableServerFileIsNamed(chain: String, key: String, words: String) throws {
        let configuration = TLSServerConfiguration(
            certificateChainFile: certificates.path(chain), privateKeyFile: certificates.path(key))
        let error = #expect(throws: TransportError.self) { _ = try TLSContext(server: configuration) }
        #expect(error?.code == .certificateFile)
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }

    @Test func keyThatIsTooSmallIsNamedWithItsSizeAndWhatWouldBeRight() throws {
        let error = #expect(throws: TransportError.self) {
            _ = try TLSContext(server: certificates.server("rsa1024"))
        }
        #expect(error?.code == .certificateFile)
        #expect(
            error?.message
                == "certificate 1 in \(certificates.path("rsa1024.pem")) has a key that is too small: 1024 bits (RSA); right "
                + "would be RSA with 2048 bits or more, or an elliptic curve with 224 bits or more, such as P-256")
    }

    @Test func tls12WithoutForwardSecrecyIsRefusedAndWithItTaken() async throws {
        try await withServer("rsa2048") { _, port, refusals in
            func connect(_ cipher: String) -> String {
                let command =
                    "openssl s_client -connect 127.0.0.1:\(port) -tls1_2 -cipher \(cipher) < /dev/null 2>&1; "
                    + "echo exit $?"
                guard let pipe = popen(command, "r") else { return "" }
                defer { pclose(pipe) }
                var text = ""
                var buffer = [CChar](repeating: 0, count: 4_096)
                while fgets(&buffer, Int32(buffer.count), pipe) != nil {
                    text += buffer.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
                }
                return text
            }
            for cipher in ["AES128-GCM-SHA256", "AES256-SHA256", "AES128-SHA"] {
                let answer = connect(cipher)
                #expect(answer.contains("handshake failure") && answer.hasSuffix("exit 1\n"), "\(cipher): \(answer)")
            }
            let seen = try await refusals.wait(for: "the refusals") { $0.count >= 3 }
            #expect(seen[0].message.contains("forward secrecy (ECDHE or DHE)"), "\(seen[0].message)")
            let answer = connect("ECDHE-RSA-AES128-GCM-SHA256")
            #expect(!answer.contains("handshake failure"), "\(answer)")
            #expect(answer.hasSuffix("exit 0\n"), "\(answer)")
        }
    }

    @Test(arguments: ["missing.pem", "garbage.pem"])
    func unusableAuthorityFileIsNamed(file: String) throws {
        let path = certificates.path(file)
        let error = #expect(throws: TransportError.self) {
            _ = try TLSContext(trust: .authorities(files: [path]), setting: "--ca-file")
        }
        #expect(error?.message.contains(path) == true && error?.outlook == .unclear)
    }
}
