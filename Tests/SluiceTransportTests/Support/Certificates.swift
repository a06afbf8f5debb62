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
        try "not a certificate".write(toFile: path("garbage.pem"), atomically: true, encoding: .utf8)
    }

    private func issue(_ name: String, names: String, days: Int) throws {
        try run(
            "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=\(name)"
                + " -keyout \(name).key -out \(name).csr")
        try "subjectAltName=\(names)\n".write(toFile: path("\(name).ext"), atomically: true, encoding: .utf8)
        try run(
            "x509 -req -in \(name).csr -CA ca.pem -CAkey ca.key -CAcreateserial -days \(days)"
                + " -extfile \(name).ext -out \(name).pem")
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
