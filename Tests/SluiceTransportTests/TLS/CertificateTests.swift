import Dispatch
import Glibc
import Testing

@testable import SluiceTransport

/// Which certificates a client accepts for which host, over a pair of sockets.
@Suite(.enabled(if: Certificates.shared != nil, "the openssl tool is missing"))
struct CertificateTests {
    private static let setting = "the setting"

    struct Case: Sendable, CustomTestStringConvertible {
        let server: String
        /// The file of the trusted authority.
        let authority: String
        let host: String
        /// nil if the certificate is accepted.
        let code: TransportError.Code?
        let words: [String]

        init(
            _ server: String, _ authority: String, _ host: String, _ code: TransportError.Code? = nil,
            _ words: String...
        ) {
            self.server = server
            self.authority = authority
            self.host = host
            self.code = code
            self.words = words
        }

        var testDescription: String { "\(server) for \(host), trusting \(authority)" }
    }

    private static let cases = [
        Case("good", "ca", "localhost"), Case("good", "ca", "127.0.0.1"),
        Case("expired", "ca", "localhost", .certificateExpired, "has expired", "host localhost"),
        Case("later", "ca", "localhost", .certificateExpired, "is not valid yet", "host localhost"),
        Case("other", "ca", "localhost", .wrongHost, "not valid for host localhost", "connect by a name"),
        Case("good", "ca", "::1", .wrongHost, "not valid for host ::1"), Case("six", "ca", "::1"),
        // Names: RFC 9525 knows subjectAltName alone, and wildcards for a whole label on the left.
        Case("cn", "ca", "localhost", .wrongHost, "common name (CN) alone", "subjectAltName"),
        Case("cn-other", "ca", "localhost", .wrongHost, "common name (CN) alone", "RFC 9525"),
        Case("cn-address", "ca", "127.0.0.1", .wrongHost, "common name (CN) alone"),
        Case("cn", "ca", "example.test", .wrongHost, "connect by a name"),
        Case("address-as-name", "ca", "127.0.0.1", .wrongHost, "not valid for host 127.0.0.1"),
        Case("wildcard", "ca", "a.example.test"), Case("wildcard", "ca", "A.Example.TEST"),
        Case("wildcard", "ca", "example.test", .wrongHost), Case("wildcard", "ca", "a.b.example.test", .wrongHost),
        Case("partial", "ca", "foo.example.test", .wrongHost),
        // Authorities.
        Case("self", "ca", "localhost", .untrustedCertificate, "self-signed", "ca.pem", setting),
        Case("self", "self", "localhost"), Case("good", "good", "localhost"),
        Case("good", "self", "localhost", .untrustedCertificate, "unknown authority", "self.pem", setting),
        Case("other", "other", "localhost", .wrongHost),
        Case("expired", "expired", "localhost", .certificateExpired),
        // Chains: the authority may be any certificate on the way.
        Case("chained", "ca", "localhost"), Case("chained", "inter", "localhost"),
        Case("chained", "unchained", "localhost"), Case("unchained", "inter", "localhost"),
        Case("unchained", "ca", "localhost", .untrustedCertificate, "the certificates in between", "ca.pem", setting),
        Case("good", "inter", "localhost", .untrustedCertificate, "inter.pem"),
    ]

    /// What a client makes of a server's certificate; nil if it accepts it.
    private func verdict(_ example: Case) throws -> TransportError? {
        let certificates = try #require(Certificates.shared)
        let server = try TLSContext(server: certificates.server(example.server))
        let trust = TLSTrust.authorities(files: [certificates.path("\(example.authority).pem")])
        let client = try TLSContext(trust: trust, setting: Self.setting)
        let pair = try SocketPair()
        pair.answer { descriptor in
            let session = try? TLSSession(server, descriptor: descriptor, host: nil, peer: "the client")
            _ = session?.handshake()
        }
        let session = try TLSSession(client, descriptor: pair.near, host: example.host, peer: "the server")
        defer { pair.end() }
        switch session.handshake() {
        case .done: return nil
        case .failed(let error): return error
        case .wantsRead, .wantsWrite:
            Issue.record("a blocking handshake was not done at once")
            return nil
        }
    }

    @Test(arguments: cases) func aCertificateIsAcceptedOrRefusedForItsReason(example: Case) throws {
        let error = try verdict(example)
        #expect(error?.code == example.code, "\(error?.message ?? "accepted")")
        for words in example.words { #expect(error?.message.contains(words) == true, "\(error?.message ?? "")") }
        if let error { #expect(error.outlook == .lasting) }
    }
}

/// What a client makes of a server that does not complete TLS.
struct TLSOutlookTests {
    private static let trouble: [([UInt8], TransportError.Outlook)] = {
        func alert(_ number: UInt8) -> [UInt8] { [21, 3, 3, 0, 2, 2, number] }
        let lasting: [UInt8] = [40, 42, 43, 44, 45, 46, 48, 49, 70, 71, 86, 109, 110, 116, 120]
        return [
            ([], .passing), ([22, 3, 3], .passing), ([22, 3, 3, 0, 80, 2, 0, 0, 76], .passing),
            (alert(80), .passing), (alert(90), .passing), (alert(112), .unclear),
            ([UInt8](repeating: 0xEE, count: 300), .unclear), (Array("HTTP/1.1 200 OK\r\n\r\n".utf8), .unclear),
            (Array("SSH-2.0-OpenSSH_9.2\r\n".utf8), .unclear),
        ] + lasting.map { (alert($0), .lasting) }
    }()

    @Test(arguments: trouble)
    func theAnswerSaysWhetherAnotherAttemptMayHelp(answer: [UInt8], outlook: TransportError.Outlook) throws {
        let client = try TLSContext(trust: .systemAuthorities, setting: "")
        let pair = try SocketPair()
        pair.answer { descriptor in
            var hello = [UInt8](repeating: 0, count: 4_096)
            _ = recv(descriptor, &hello, hello.count, 0)
            _ = send(descriptor, answer, answer.count, Int32(MSG_NOSIGNAL))
        }
        defer { pair.end() }
        let session = try TLSSession(client, descriptor: pair.near, host: "localhost", peer: "the server")
        guard case .failed(let error) = session.handshake() else {
            Issue.record("the handshake did not fail")
            return
        }
        #expect(error.outlook == outlook, "\(error.message)")
    }
}

/// Two connected, blocking sockets.
private final class SocketPair: Sendable {
    let near: Int32
    private let far: Int32
    private let group = DispatchGroup()

    init() throws {
        // OpenSSL writes to what the other end has closed; an event loop blocks the signal, and here is none.
        signal(SIGPIPE, SIG_IGN)
        var descriptors: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &descriptors) == 0 else {
            throw TransportError.system(errno, "make a pair of sockets")
        }
        (near, far) = (descriptors[0], descriptors[1])
    }

    /// Has another thread answer at the far end, and end it.
    func answer(_ body: @escaping @Sendable (Int32) -> Void) {
        DispatchQueue.global().async(group: group) { [far] in
            body(far)
            shutdown(far, Int32(SHUT_RDWR))
        }
    }

    func end() {
        shutdown(near, Int32(SHUT_RDWR))
        group.wait()
        close(near)
        close(far)
    }
}
