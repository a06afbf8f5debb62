import Foundation
import Glibc
import Testing

@testable import SluiceTransport

/// Certificates made with the `openssl` tool in a directory of their own.
final class Certificates: Sendable {
    let directory: String

    /// The certificates; nil if the tool is missing.
    static let shared: Certificates? = {
        do { return try Certificates() } catch {
            print("The openssl tool does not work here, TLS is not tested: \(error)")
            return nil
        }
    }()

    private init() throws {
        directory = NSTemporaryDirectory() + "sluice-tls-\(UInt64.random(in: .min ... .max))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try run(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=TestAuthority"
                + " -keyout ca.key -out ca.pem -addext basicConstraints=critical,CA:TRUE")
        try issue("good", names: "DNS:localhost,IP:127.0.0.1", days: 2)
        try issue("other", names: "DNS:other.example", days: 2)
        try issue("expired", names: "DNS:localhost,IP:127.0.0.1", days: -1)
        try run(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=self"
                + " -keyout self.key -out self.pem -addext subjectAltName=DNS:localhost,IP:127.0.0.1")
        for bits in [1_024, 2_048] {
            try run(
                "req -x509 -newkey rsa:\(bits) -nodes -days 2 -subj /CN=rsa -keyout rsa\(bits).key -out rsa\(bits).pem"
                    + " -addext subjectAltName=DNS:localhost,IP:127.0.0.1")
        }
        for (name, subject, names) in [
            ("cn", "localhost", nil), ("cn-other", "localhost", "DNS:other.example"), ("cn-address", "127.0.0.1", nil),
            ("wildcard", "wildcard", "DNS:*.example.test"), ("partial", "partial", "DNS:f*.example.test"),
            ("address-as-name", "name", "DNS:127.0.0.1"), ("six", "six", "IP:::1"),
        ] as [(String, String, String?)] {
            try issue(name, subject: subject, names: names, days: 2)
        }
        try issueLater("later", names: "DNS:localhost")
        try "basicConstraints=critical,CA:TRUE\n".write(toFile: path("inter.ext"), atomically: true, encoding: .utf8)
        try issue("inter", extensions: "inter.ext", days: 2)
        try issue("unchained", names: "DNS:localhost", days: 2, signer: "inter")
        try run("pkey -in unchained.key -out chained.key")
        let chain = try ["unchained.pem", "inter.pem"].map { try String(contentsOfFile: path($0), encoding: .utf8) }
        try chain.joined().write(toFile: path("chained.pem"), atomically: true, encoding: .utf8)
        try "not a certificate".write(toFile: path("garbage.pem"), atomically: true, encoding: .utf8)
    }

    /// - Parameters:
    ///   - subject: its common name; nil for its name here.
    ///   - names: what it is for; nil for a certificate without `subjectAltName`.
    ///   - extensions: a file of extensions, instead of names.
    private func issue(
        _ name: String, subject: String? = nil, names: String? = nil, extensions: String? = nil, days: Int,
        signer: String = "ca"
    ) throws {
        try request(name, subject: subject ?? name, names: names)
        let file = extensions ?? (names == nil ? nil : "\(name).ext")
        try run(
            "x509 -req -in \(name).csr -CA \(signer).pem -CAkey \(signer).key -CAcreateserial -days \(days)"
                + (file.map { " -extfile \($0)" } ?? "") + " -out \(name).pem")
    }

    private func request(_ name: String, subject: String, names: String?) throws {
        try run(
            "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=\(subject)"
                + " -keyout \(name).key -out \(name).csr")
        guard let names else { return }
        try "subjectAltName=\(names)\n".write(toFile: path("\(name).ext"), atomically: true, encoding: .utf8)
    }

    /// Issues a certificate that is not valid yet, which `openssl x509` of older versions cannot.
    private func issueLater(_ name: String, names: String) throws {
        try request(name, subject: name, names: names)
        let configuration =
            "[ca]\ndefault_ca=own\n[own]\ndatabase=index.txt\nserial=serial.txt\nnew_certs_dir=.\ndefault_md=sha256\n"
            + "policy=any\nunique_subject=no\n[any]\ncommonName=supplied\n"
        try configuration.write(toFile: path("ca.cnf"), atomically: true, encoding: .utf8)
        try "".write(toFile: path("index.txt"), atomically: true, encoding: .utf8)
        try "1000\n".write(toFile: path("serial.txt"), atomically: true, encoding: .utf8)
        try run(
            "ca -batch -notext -config ca.cnf -cert ca.pem -keyfile ca.key -in \(name).csr -out \(name).pem"
                + " -extfile \(name).ext -startdate 20450101000000Z -enddate 20460101000000Z")
    }

    private func run(_ arguments: String) throws {
        let status = system("cd '\(directory)' && openssl \(arguments) < /dev/null > /dev/null 2>&1")
        guard status == 0 else {
            throw TransportError(.system, "openssl \(arguments) failed with \(status >> 8)")
        }
    }

    func path(_ file: String) -> String { directory + "/" + file }

    func server(_ name: String) -> TLSServerConfiguration {
        TLSServerConfiguration(certificateChainFile: path("\(name).pem"), privateKeyFile: path("\(name).key"))
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }
}
