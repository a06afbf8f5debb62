import Foundation
import Glibc
import SluiceModel
import TestSupport
import Testing

/// What an operator does beside a running server: databases, users, and what the server says of its machine.
@Suite(.serialized)
struct OperatorTests {
    private func importPlanes(_ server: ServerProcess, _ name: String, in folder: String) async throws -> Int32 {
        let file = folder + "/planes.csv"
        try "tail,seats\nN1,5\nN2,6\n".write(toFile: file, atomically: true, encoding: .utf8)
        return try await Tool.run("import", server.url(name), "Plane", file, "--key=tail").code
    }

    // MARK: Databases

    @Test func aFolderOfAnotherUserIsNotTakenForAnEmptyOne() async throws {
        guard geteuid() == 0, let known = try await run("setpriv", ["--version"]), known.code == 0 else { return }
        let root = NSTemporaryDirectory() + "sluice-others-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: root) }
        let data = root + "/data"
        try await withServer(folder: data) { server in
            let code = try await importPlanes(server, "app", in: data)
            #expect(code == 0)
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: root)
        for command in [
            ["databases", "list", "--data=\(data)"], ["databases", "delete", "app", "--data=\(data)"],
            ["backup", "--data=\(data)", "--to=\(root)/x.backup"],
        ] {
            let exit = try await run("setpriv", ["--reuid=65534", "--clear-groups", Tool.path] + command)
            guard let exit, exit.code != 126, exit.code != 127 else { return }
            #expect(exit.code == 1, "\(command): \(exit)")
            #expect(exit.diagnostics.contains("cannot be read: permission denied"), "\(command): \(exit)")
        }
    }

    @Test func databasesAreListedRestrictedAndDeletedWhileTheServerRuns() async throws {
        try await withFolder { folder in
            let data = folder + "/data"
            func databases(_ arguments: String...) async throws -> ChildProcess.Exit {
                try await Tool.run(["databases"] + arguments + ["--data=\(data)"])
            }
            try await withServer(folder: data) { server in
                for name in ["app", "old"] { #expect(try await importPlanes(server, name, in: folder) == 0) }
                let list = try await databases("list", "--format=table")
                #expect(list.code == 0 && list.lines.count == 2, "\(list)")
                #expect(list.lines[0].hasPrefix("app\topen\t"))
                #expect(list.lines[0].hasSuffix("\tno rules\t1 class\t2 objects"))
                let json = try await databases("list", "--format=jsonl").lines
                #expect(
                    json[1].hasPrefix(#"{"name":"old","state":"open","bytes":"#) && json[1].contains(#""objects":2}"#))
                // A closed list.
                #expect(try await databases("restrict", "--only=app").code == 0)
                try await wait(for: "the restriction") { try await importPlanes(server, "old", in: folder) == 1 }
                #expect(try await importPlanes(server, "app", in: folder) == 0)
                let refused = try await Tool.run("schema", server.url("other"))
                #expect(refused.code == 1 && refused.diagnostics.contains("no database 'other' for clients"))
                #expect(try await databases("list").diagnostics.contains("clients may open: app"))
                // One that somebody uses is deleted when asked twice.
                let watcher = try ChildProcess(
                    Tool.path, ["query", server.url("app"), "Plane", "--watch", "--format=jsonl"], input: nil)
                defer { watcher.signal(SIGKILL) }
                try await watcher.line(with: "\"state\":\"complete\"")
                let used = try await databases("delete", "app")
                #expect(used.code == 1 && used.diagnostics.contains("--force"))
                #expect(try await databases("delete", "app", "--force").code == 0)
                #expect(try await databases("delete", "app").code == 1)
                #expect(try await databases("list").lines.map { $0.contains("\"name\":\"old\"") } == [true])
                #expect(try await databases("restrict", "--any").code == 0)
                try await wait(for: "the end of the restriction") {
                    try await importPlanes(server, "app", in: folder) == 0
                }
            }
            // No server runs.
            #expect(try await databases("list", "--format=jsonl").lines[0].contains(#""state":null"#))
            #expect(try await databases("list", "--format=table").lines[0].contains("\tnot served\t"))
            #expect(try await databases("restrict", "--existing").code == 0)
            try await withServer(folder: data) { server in
                let (known, new) = (
                    try await importPlanes(server, "app", in: folder), try await importPlanes(server, "new", in: folder)
                )
                #expect(known == 0 && new == 1)
            }
            #expect(try await databases("delete", "old").code == 0)
            for wrong in [
                ["restrict"], ["restrict", "--any", "--existing"], ["delete"], ["delete", "a/b"], ["list", "x"],
            ] {
                #expect(try await Tool.run(["databases"] + wrong + ["--data=\(data)"]).code == 64, "\(wrong)")
            }
            #expect(try await Tool.run("databases", "list", "--data=\(folder)/none").code == 1)
        }
    }

    @Test func aDatabaseThatCannotBeOpenedHasFailed() async throws {
        try await withFolder { folder in
            try await withServer(folder: folder) { server in
                try "nothing of the kind".write(
                    toFile: folder + "/bad.sluicedb", atomically: true, encoding: .utf8)
                func list(_ format: String) async throws -> ChildProcess.Exit {
                    try await Tool.run("databases", "list", "--data=\(folder)", "--format=\(format)")
                }
                // Nobody has asked for it yet.
                #expect(try await list("table").lines == ["bad\tclosed"])
                #expect(try await Tool.run("schema", server.url("bad")).code == 1)
                let listed = try await list("table")
                #expect(listed.lines == ["bad\tfailed"] && listed.code == 1, "\(listed)")
                #expect(listed.diagnostics.contains("bad: "), "\(listed)")
                #expect(try await list("jsonl").lines == [#"{"name":"bad","state":"failed"}"#])
                // A server that does not answer hides nothing but the states.
                server.process.signal(SIGSTOP)
                let unknown = try await list("table")
                #expect(unknown.lines == ["bad\tunknown"], "\(unknown)")
                #expect(unknown.diagnostics.contains("the states of the databases are unknown"), "\(unknown)")
                server.process.signal(SIGCONT)
            }
        }
    }

    // MARK: Users

    @Test func revocationsAndLocksAreListedAndUndone() async throws {
        try await withFolder { folder in
            let data = folder + "/data"
            func users(_ action: String, _ options: String...) async throws -> ChildProcess.Exit {
                try await Tool.run(["users", action, "--data=\(data)"] + options)
            }
            func password(_ text: String) throws -> String {
                let path = "\(folder)/\(text).password"
                try text.write(toFile: path, atomically: true, encoding: .utf8)
                return "--password-file=\(path)"
            }
            let (right, wrong) = (try password("correct horse"), try password("battery staple"))
            #expect(try await users("add", "--name=ada", right, "--claims={\"role\":\"admin\"}").code == 0)
            let unknown = try await users("revoke", "--name=eve")
            #expect(unknown.code == 1 && unknown.diagnostics.contains("no user 'eve', so nothing was revoked"))
            #expect(try await users("list").lines == ["ada\t0 logins\tclaims {\"role\":\"admin\"}"])
            for arguments in [["--name=eve", "--of-issuer"], ["--name=corp:7"]] {
                let issuers = try await Tool.run(["users", "revoke", "--data=\(data)"] + arguments)
                #expect(issuers.code == 0 && issuers.diagnostics.isEmpty, "\(issuers.diagnostics)")
            }
            let own = try await users("revoke", "--name=ada")
            #expect(own.code == 0 && own.diagnostics.contains("can log in again"), "\(own.diagnostics)")
            let list = try await users("list").lines
            #expect(list.count == 3 && list[0].contains("tokens up to 2") && list[0].hasSuffix(" revoked"), "\(list)")
            #expect(list[1].hasPrefix("corp:7\tno user\t") && list[2].hasPrefix("eve\tno user\t"))
            for name in ["ada", "eve", "corp:7"] { #expect(try await users("restore", "--name=\(name)").code == 0) }
            #expect(try await users("list").lines == ["ada\t0 logins\tclaims {\"role\":\"admin\"}"])
            let again = try await users("restore", "--name=ada")
            #expect(again.code == 0 && again.diagnostics.contains("'ada' is not revoked"))
            #expect(try await users("restore", "--name=eve").code == 1)
            try await withServer(
                folder: data, options: ["--users", "--allow-everything"], isDevelopment: false
            ) { server in
                func code(_ password: String) async throws -> Int32 {
                    try await Tool.run("schema", server.url(), "--user=ada", password, "--timeout=1s").code
                }
                // Each wrong password doubles the wait, until it is long enough to be seen.
                try await wait(for: "a lock") {
                    let isRefused = try await code(wrong) == 1
                    #expect(isRefused)
                    return try await users("list").lines[0].contains(" wrong passwords")
                }
                #expect(try await users("unlock", "--name=ada").code == 0)
                #expect(try await !users("list").lines[0].contains("locked"))
                #expect(try await users("unlock", "--name=eve").code == 1)
            }
        }
    }

    // MARK: The start

    @Test func filesThatOthersCanReadAreToldAtTheStart() async throws {
        try await withFolder { folder in
            let (data, secret) = (folder + "/data", folder + "/secret")
            try FileManager.default.createDirectory(
                atPath: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
            try String(repeating: "s", count: 32).write(toFile: secret, atomically: true, encoding: .utf8)
            #expect(chmod(secret, 0o644) == 0)
            let options = ["--shared-secret-file=\(secret)", "--allow-everything", "--log-format=text"]
            try await withServer(folder: data, options: options, isDevelopment: false) { server in
                let lines = server.process.diagnostics.split(separator: "\n").filter { $0.contains("others can read") }
                #expect(lines.count == 2, "\(lines)")
                #expect(lines.contains { $0.contains("file=\(data) mode=755 advice=chmod 700 \(data)") })
                #expect(lines.contains { $0.contains("what=a secret file=\(secret) mode=644") })
            }
            #expect(chmod(secret, 0o600) == 0 && chmod(data, 0o700) == 0)
            try await withServer(folder: data, options: options, isDevelopment: false) { server in
                #expect(!server.process.diagnostics.contains("others can read"))
            }
        }
    }

    @Test(arguments: [false, true])
    func backupsThatAreLostWithTheDataAreToldAtTheStart(isThere: Bool) async throws {
        try await withFolder { folder in
            let data = folder + "/data"
            if isThere {
                try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
            }
            try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: data)
            let archive = isThere ? folder + "/link/archive" : data + "/archive"
            let options = ["--backup-to=\(folder)/data-backups", "--archive=\(archive)", "--log-format=text"]
            try await withServer(folder: data, options: options) { server in
                let lines = server.process.diagnostics.split(separator: "\n").filter { $0.contains("is lost with") }
                #expect(lines.count == 1, "\(lines)")
                #expect(lines.first?.contains("what=the archive folder=\(archive) data=\(data)") == true)
            }
        }
    }

    @Test func tooFewDescriptorsAreToldAtTheStart() async throws {
        try await withServer(descriptorCountMax: 300) { server in
            _ = try await server.process.line(
                .diagnostics, with: "the system allows too few open files for all connections")
        }
    }

    /// The hard limit is what this user may have.
    @Test func theLimitOfOpenFilesIsRaised() async throws {
        try await withFolder { folder in
            let command =
                "ulimit -S -n 256; exec '\(Tool.path)' serve --data='\(folder)/data' --dev --listen=127.0.0.1:0"
            let server = try await ServerProcess.listening(ChildProcess("/bin/sh", ["-c", command]))
            defer { server.process.signal(SIGKILL) }
            var limit = rlimit()
            #expect(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            let limits = try String(contentsOfFile: "/proc/\(server.process.processID)/limits", encoding: .utf8)
            let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max open files") })
            let soft = line.split(separator: " ").compactMap { UInt64($0) }.first
            #expect(soft == UInt64(limit.rlim_max))
        }
    }

    @Test func aPathOfMetricsThatCannotBeWrittenEndsTheStart() async throws {
        try await withFolder { folder in
            func serve(_ options: String...) async throws -> ChildProcess.Exit {
                try await Tool.run(["serve", "--data=\(folder)/data", "--dev", "--listen=127.0.0.1:0"] + options)
            }
            let missing = try await serve("--metrics-file=\(folder)/none/sluice.prom")
            #expect(missing.code == 64 && missing.diagnostics.contains("there is no folder '\(folder)/none'"))
            let path = try await serve("--metrics-file=\(folder)")
            #expect(path.code == 64 && path.diagnostics.contains("it is a folder; name a file in it"))
            let shown = try await serve("--metrics-listen=0.0.0.0:0")
            #expect(shown.code == 64 && shown.diagnostics.contains("listen for them at 127.0.0.1 or ::1"))
        }
    }

    /// Whoever leaves, in order or not, is no warning.
    @Test func aClientThatLeavesIsNoWarning() async throws {
        try await withFolder { folder in
            try await withServer(folder: folder + "/data", options: ["--log-format=text"]) { server in
                #expect(try await importPlanes(server, "app", in: folder) == 0)
                let condition = (1...300).map { "seats * \($0) != 7" }.joined(separator: " AND ")
                for query in ["Plane", "Plane WHERE \(condition)"] {
                    for signal in [SIGKILL, SIGTERM] {
                        let watcher = try ChildProcess(
                            Tool.path, ["query", server.url("app"), query, "--watch", "--format=jsonl"], input: nil)
                        try await watcher.line(with: "\"state\":\"complete\"")
                        watcher.signal(signal)
                        _ = try await watcher.finish()
                    }
                }
                try await wait(for: "the end of the sessions") {
                    let lines = server.process.diagnostics.split(separator: "\n")
                    let opened = lines.count { $0.contains("a session was opened") }
                    return lines.count { $0.contains("a session ended") } == opened
                }
                let lines = server.process.diagnostics.split(separator: "\n").filter { !$0.contains("open files") }
                #expect(!lines.contains { $0.contains(" warning ") || $0.contains(" error ") }, "\(lines)")
            }
        }
    }
}
