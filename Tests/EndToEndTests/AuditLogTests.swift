import Foundation
import Glibc
import SluiceModel
import TestSupport
import Testing

/// The audit log of a server, and of the commands beside it, through the program itself.
@Suite(.serialized)
struct AuditLogTests {
    private static let rules = """
        {"database": {"schema": "$user.id == 'ada'", "rules": "$user.id == 'ada'"},
         "classes": {"Plane": {"read": true, "create": "$user.id == 'ada'", "update": "$user.id == 'ada'"}}}
        """

    /// The events of a file, each by its members.
    private func events(_ path: String) throws -> [[String: String]] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { line in
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            return object.mapValues { "\($0)" }
        }
    }

    @Test func whoHasDoneWhatIsInTheFile() async throws {
        try await withFolder { folder in
            let (data, audit) = (folder + "/data", folder + "/audit.jsonl")
            func file(_ name: String, _ text: String) throws -> String {
                try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
                return "\(folder)/\(name)"
            }
            let right = try "--password-file=" + file("right", "correct horse")
            let wrong = try "--password-file=" + file("wrong", "battery staple")
            let (rules, planes) = (try file("rules.json", Self.rules), try file("planes.csv", "tail,seats\nN1,5\n"))
            for name in ["ada", "bob"] {
                let added = try await Tool.run(
                    "users", "add", "--data=\(data)", "--name=\(name)", right, "--audit-log=\(audit)",
                    "--claims={\"secret\":\"4711\"}")
                #expect(added.code == 0, "\(added.diagnostics)")
            }
            let options = ["--users", "--rules=\(rules)", "--audit-log=\(audit)"]
            try await withServer(folder: data, options: options, isDevelopment: false) { server in
                func code(_ arguments: String...) async throws -> Int32 { try await Tool.run(arguments).code }
                #expect(try await code("import", server.url(), "Plane", planes, "--key=tail", "--user=ada", right) == 0)
                #expect(try await code("schema", server.url(), "--user=ada", wrong) == 1)
                #expect(try await code("schema", server.url(), "--user=eve", wrong) == 1)
                let write = try await Tool.run(
                    ["write", server.url(), "--user=bob", right],
                    input: #"{"op":"upsert","class":"Plane","key":"N1","set":{"seats":4712}}"#)
                #expect(write.code == 1)
                let other = try file(
                    "other.json", Self.rules.replacing("\"read\": true", with: "\"read\": \"seats > 1\""))
                #expect(try await code("rules", "deploy", server.url(), other, "--user=ada", right) == 0)
                #expect(try await code("rules", "deploy", server.url(), rules, "--user=bob", right) == 1)
                let watcher = try ChildProcess(
                    Tool.path, ["query", server.url(), "Plane", "--watch", "--format=jsonl", "--user=bob", right],
                    input: nil)
                try await watcher.line(with: "\"state\":\"complete\"")
                let revoked = try await Tool.run(
                    "users", "revoke", "--data=\(data)", "--name=bob", "--audit-log=\(audit)")
                #expect(revoked.code == 0)
                #expect(try await watcher.finish().code == 1)
                // logrotate renames the file, and then has it opened again.
                try FileManager.default.moveItem(atPath: audit, toPath: audit + ".1")
                server.process.signal(SIGHUP)
                try await wait(for: "another file") { FileManager.default.fileExists(atPath: audit) }
                #expect(try await code("schema", server.url(), "--user=eve", right) == 1)
                // What has happened before may be written after it.
                try await wait(for: "its line") { try events(audit).contains { $0["event"] == "login refused" } }
            }
            let all = try events(audit + ".1")
            let text = try String(contentsOfFile: audit + ".1", encoding: .utf8)
            for secret in ["correct horse", "battery staple", "4711", "4712", "sluice_session_"] {
                #expect(!text.contains(secret))
            }
            func found(_ event: String, _ members: [String: String]) -> Bool {
                all.contains { line in
                    line["event"] == event && line["time"] != nil && members.allSatisfy { line[$0.key] == $0.value }
                }
            }
            let account = "operator \(NSUserName())"
            #expect(found("user changed", ["who": account, "user": "ada", "change": "added", "outcome": "done"]))
            #expect(found("user changed", ["who": account, "user": "bob", "change": "revoked"]))
            #expect(found("rules deployed", ["who": "server", "version": "1", "former": "0"]))
            #expect(
                found(
                    "rules deployed",
                    ["who": "ada", "version": "2", "former": "1", "from": "127.0.0.1", "outcome": "done"]))
            #expect(found("rules deployed", ["who": "bob", "outcome": "refused"]))
            #expect(
                found("session opened", ["who": "ada", "login": "password", "mode": "read and write"]))
            #expect(
                found(
                    "login refused",
                    ["who": "ada", "login": "password", "from": "127.0.0.1", "outcome": "refused"]))
            #expect(
                found(
                    "writes rejected",
                    ["who": "bob", "code": "permissionDenied", "class": "Plane", "keys": "1", "outcome": "refused"]))
            #expect(found("session ended", ["who": "bob", "cause": "revoked"]))
            let mode = try FileManager.default.attributesOfItem(atPath: audit)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test func aPathThatCannotBeOpenedEndsTheStart() async throws {
        try await withFolder { folder in
            let served = try await Tool.run(
                "serve", "--data=\(folder)/data", "--dev", "--listen=127.0.0.1:0",
                "--audit-log=\(folder)/missing/audit.jsonl")
            #expect(served.code == 64 && served.diagnostics.contains("its folder is missing"))
        }
    }
}
