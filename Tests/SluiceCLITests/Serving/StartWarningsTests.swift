import Foundation
import Glibc
import SluiceModel
import SluiceServer
import Synchronization
import TestSupport
import Testing

@testable import SluiceCLI

/// What a server says of files that others can read.
struct StartWarningsTests {
    private final class Lines: Sendable {
        let all = Mutex<[LogLine]>([])

        /// What is exposed, by its name, with the advice.
        var exposed: [String: String] {
            let lines = all.withLock { $0 }.filter { $0.message.contains("others can read") }
            return Dictionary(
                lines.map { line in
                    let values = Dictionary(line.metadata.map { ($0.name, $0.value) }) { first, _ in first }
                    return (values["what"] ?? "", values["advice"] ?? "")
                }
            ) { first, _ in first }
        }
    }

    /// What a server with a file of settings says.
    private func exposed(_ text: String, in folder: String, mode: mode_t = 0o600) throws -> [String: String] {
        let file = folder + "/s.conf"
        try "data = \(folder)/data\nallow-anonymous = true\nallow-everything = true\n\(text)".write(
            toFile: file, atomically: true, encoding: .utf8)
        chmod(file, mode)
        let arguments = try ArgumentParser(ServeCommand.description).parse(["--config=\(file)"])
        let sources = SettingSources(
            description: ServeCommand.description, arguments: arguments, environment: { _ in nil })
        let lines = Lines()
        var settings = try ServeSettings(try sources.read(), isReadingAgain: true)
        if let path = settings.settings.values.value("audit-log") {
            settings.configuration.auditLog = try AuditFile(path)
        }
        StartWarnings(log: LogSink(level: .info) { line in lines.all.withLock { $0.append(line) } }).note(settings)
        return lines.exposed
    }

    private func make(_ path: String, _ text: String = "", mode: mode_t) throws {
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        chmod(path, mode)
    }

    @Test(
        arguments: [
            ("tls-key", "tls-certificate = DIR/file\ntls-key = DIR/file\n", "the certificate's key", 0o604, 0o640),
            ("shared-secret-file", "shared-secret-file = DIR/file\n", "a secret", 0o644, 0o640),
            (
                "jwt-secret-file",
                "jwt-issuer = a=https://a.b\njwt-audience = a=x\njwt-secret-file = a=DIR/file\n", "a secret", 0o660,
                0o640
            ),
            ("audit-log", "audit-log = DIR/file\n", "the audit log", 0o644, 0o640),
            ("journal", "journal = file:DIR/file\n", "the file of --journal", 0o604, 0o640),
            (
                "journal-listen", "journal = postgres://h/d\njournal-listen = file:DIR/file\n",
                "the file of --journal-listen", 0o620, 0o600
            ),
        ] as [(String, String, String, Int, Int)])
    func aFileThatOthersCanReadIsNamed(
        _ option: String, _ text: String, _ what: String, wide: Int, narrow: Int
    ) async throws {
        try await withFolder { folder in
            let lines = text.replacing("DIR", with: folder)
            let path = folder + "/file"
            // The folder of the others is its owner's, who may have made it otherwise.
            try make(path, String(repeating: "s", count: 40), mode: mode_t(wide))
            let found = try exposed(lines, in: folder)
            #expect(found == [what: "chmod 640 or 600 \(path)"], "\(option)")
            chmod(path, mode_t(narrow))
            #expect(try exposed(lines, in: folder) == [:], "\(option)")
        }
    }

    @Test(arguments: [
        ("", "the data folder", "data"), ("backup-to = DIR/b\n", "the folder of backups", "b"),
        ("archive = DIR/a\n", "the archive", "a"),
    ])
    func aFolderThatOthersCanOpenIsNamed(_ text: String, _ what: String, _ name: String) async throws {
        try await withFolder { folder in
            let (lines, path) = (text.replacing("DIR", with: folder), "\(folder)/\(name)")
            try #require(mkdir(path, 0o700) == 0)
            #expect(try exposed(lines, in: folder) == [:])
            chmod(path, 0o750)
            #expect(try exposed(lines, in: folder) == [what: "chmod 700 \(path)"])
        }
    }

    @Test func theFileOfUsersIsItsOwnersAlone() async throws {
        try await withFolder { folder in
            try #require(mkdir(folder + "/data", 0o700) == 0)
            let path = folder + "/data/server.users"
            try make(path, mode: 0o640)
            #expect(try exposed("", in: folder) == ["the file of users": "chmod 600 \(path)"])
        }
    }

    @Test func aFileOfSettingsWithAPasswordIsASecret() async throws {
        try await withFolder { folder in
            let what = "the password of 'journal' in the file of settings"
            for secret in [
                "postgres://ada:s3cret@db/x", "postgres://ada@db/x?password=s3cret&a=b",
                "postgres://db/x?sslpassword=s3cret",
                "postgres://ada:s3cret@db/x?password=s3cret&a=b&SSLpassword=s3cret",
            ] {
                let line = "journal = \(secret)\n"
                let wide = try exposed(line, in: folder, mode: 0o644)
                #expect(wide == [what: "chmod 640 or 600 \(folder)/s.conf"])
                let narrow = try exposed(line, in: folder, mode: 0o640)
                #expect(narrow == [:])
                #expect(!Settings.withoutPassword(secret).contains("s3cret"))
            }
            let harmless = try exposed("journal = postgres://ada@db/x\n", in: folder, mode: 0o644)
            #expect(harmless == [:])
        }
    }
}
