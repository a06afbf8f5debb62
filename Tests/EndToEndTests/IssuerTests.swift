import Foundation
import Glibc
import TestSupport
import Testing

/// Tokens of an issuer whose keys the server fetches over HTTPS, through the program itself.
@Suite(.serialized)
struct IssuerTests {
    private static let issuer = "https://issuer.example"

    private func openssl(_ arguments: String, in folder: String) async throws -> ChildProcess.Exit? {
        let exit = try await run("openssl", arguments.split(separator: " ").map(String.init), in: folder)
        if let exit, exit.code != 0 { throw Failure("openssl \(arguments): \(exit.diagnostics)") }
        return exit
    }

    private func base64(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Writes a token that a key of the folder has signed, and gives the option that presents it.
    private func token(
        _ name: String, key: String = "rsa", algorithm: String = "RS256", audience: String = "sluice",
        lasting seconds: Double = 3_600, in folder: String
    ) async throws -> String {
        let header = #"{"alg":"\#(algorithm)","kid":"first"}"#
        let end = Int(Date().timeIntervalSince1970 + seconds)
        let claims = #"{"iss":"\#(Self.issuer)","aud":"\#(audience)","sub":"\#(name)","exp":\#(end)}"#
        let signed = base64(Data(header.utf8)) + "." + base64(Data(claims.utf8))
        try signed.write(toFile: folder + "/signed", atomically: true, encoding: .utf8)
        _ = try await openssl("dgst -sha256 -sign \(key).pem -out signature signed", in: folder)
        let signature = try Data(contentsOf: URL(filePath: folder + "/signature"))
        let path = "\(folder)/\(name).token"
        let text = signed + "." + (algorithm == "none" ? "" : base64(signature))
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return "--token-file=\(path)"
    }

    /// Makes a certificate, keys that sign tokens, and the set of the public ones.
    ///
    /// - Returns: false if there is no `openssl`.
    private func prepare(_ folder: String) async throws -> Bool {
        let certificate =
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test -keyout tls.key "
            + "-out tls.pem -addext subjectAltName=IP:127.0.0.1"
        guard try await openssl(certificate, in: folder) != nil else {
            print("skipped: there is no openssl command")
            return false
        }
        for name in ["rsa", "stranger"] { _ = try await openssl("genrsa -out \(name).pem 2048", in: folder) }
        let modulus = try #require(try await openssl("rsa -in rsa.pem -noout -modulus", in: folder)).lines.joined()
        let digits = Array(modulus.dropFirst("Modulus=".count))
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(digits[$0...$0 + 1]), radix: 16)
        }
        let keys = #"{"keys":[{"kty":"RSA","kid":"first","alg":"RS256","n":"\#(base64(Data(bytes)))","e":"AQAB"}]}"#
        try keys.write(toFile: folder + "/keys.json", atomically: true, encoding: .utf8)
        return true
    }

    @Test func whoBringsATokenOfTheIssuerIsLetInByKeysThatTheServerFetches() async throws {
        try await withFolder { folder in
            guard try await prepare(folder) else { return }
            let started = try await HTTPSServer.start(
                certificate: folder + "/tls.pem", key: folder + "/tls.key", keys: folder + "/keys.json")
            guard let issuer = started else { return }
            let rules =
                #"{"database": {"schema": "$user.id == 'ada'"}, "classes": {"Plane": {"create": true, "read": "tail == $user.id"}}}"#
            try rules.write(toFile: folder + "/rules.json", atomically: true, encoding: .utf8)
            let options = [
                "--jwt-issuer=\(Self.issuer)", "--jwt-audience=sluice", "--jwks=\(issuer.url("/keys"))",
                "--jwt-ca-file=\(folder)/tls.pem", "--rules=\(folder)/rules.json",
            ]
            try await withServer(folder: folder + "/data", options: options, isDevelopment: false) { server in
                let ada = try await token("ada", in: folder)
                let file = folder + "/planes.csv"
                try "tail,seats\nada,5\nbob,6\n".write(toFile: file, atomically: true, encoding: .utf8)
                let imported = try await Tool.run("import", server.url(), "Plane", file, "--key=tail", ada)
                #expect(imported.code == 0, "\(imported.diagnostics)")
                for name in ["ada", "bob"] {
                    let login = try await token(name, in: folder)
                    let found = try await Tool.run("query", server.url(), "Plane", "--format=jsonl", login)
                    #expect(found.code == 0, "\(found.diagnostics)")
                    #expect(found.lines.count == 1 && found.lines[0].contains("\"tail\":\"\(name)\""), "\(found.lines)")
                }
                for hostile in [
                    try await token("mallory", key: "stranger", in: folder),
                    try await token("late", lasting: -3_600, in: folder),
                    try await token("elsewhere", audience: "another", in: folder),
                    try await token("unsigned", algorithm: "none", in: folder),
                    try await token("confused", algorithm: "HS256", in: folder),
                ] {
                    let refused = try await Tool.run("query", server.url(), "Plane", hostile)
                    #expect(refused.code == 1 && refused.lines.isEmpty, "\(hostile): \(refused.lines)")
                    #expect(!refused.diagnostics.contains("eyJ"), "\(refused.diagnostics)")
                }
                // The keys were fetched once, and kept.
                try await issuer.stop()
                #expect(try await Tool.run("query", server.url(), "Plane", ada).code == 0)
            }
            // Without the issuer nobody is let in, and the server says that it is not the token's fault.
            try await withServer(folder: folder + "/data", options: options, isDevelopment: false) { server in
                let refused = try await Tool.run(
                    "query", server.url(), "Plane", try await token("ada", in: folder), "--timeout=3")
                #expect(refused.code == 1 && refused.lines.isEmpty)
            }
        }
    }
}
