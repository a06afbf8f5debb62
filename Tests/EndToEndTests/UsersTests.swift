import Foundation
import Glibc
import Sluice
import SluiceModel
import SluiceWire
import TestSupport
import Testing

/// Users of a server that is not for development, through the program itself.
@Suite(.serialized)
struct UsersTests {
    private static let options = ["--users", "--allow-everything"]

    private func password(_ text: String, in folder: String) throws -> String {
        let path = "\(folder)/\(text).password"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return "--password-file=\(path)"
    }

    private func users(_ action: String, _ folder: String, _ options: String...) async throws -> ChildProcess.Exit {
        try await Tool.run(["users", action, "--data=\(folder)/data"] + options)
    }

    private func add(_ name: String, _ password: String, in folder: String) async throws {
        let exit = try await users("add", folder, "--name=\(name)", password)
        guard exit.code == 0 else { throw Failure(exit.diagnostics) }
    }

    private func importPlanes(_ server: ServerProcess, _ login: [String], in folder: String) async throws {
        let file = folder + "/planes.csv"
        try "tail,seats\nN1,5\n".write(toFile: file, atomically: true, encoding: .utf8)
        let exit = try await Tool.run(["import", server.url(), "Plane", file, "--key=tail"] + login)
        guard exit.code == 0 else { throw Failure(exit.diagnostics) }
    }

    @Test func usersAreManagedWhileTheServerRuns() async throws {
        try await withFolder { folder in
            let (first, second) = (try password("first secret", in: folder), try password("second secret", in: folder))
            try await add("ada", first, in: folder)
            try await withServer(folder: folder + "/data", options: Self.options, isDevelopment: false) { server in
                try await importPlanes(server, ["--user=ada", first], in: folder)
                func code(_ options: String...) async throws -> Int32 {
                    try await Tool.run(["schema", server.url()] + options).code
                }
                #expect(try await code("--user=ada", first) == 0)
                #expect(try await code("--user=ada", second) == 1)
                #expect(try await code() == 1)
                #expect(try await users("add", folder, "--name=ada", second).code == 1)
                try await add("bob", first, in: folder)
                #expect(try await code("--user=bob", first) == 0)
                #expect(try await users("list", folder).lines.joined().contains("bob"))
                #expect(try await users("passwd", folder, "--name=bob", second).code == 0)
                #expect(try await code("--user=bob", second) == 0)
                #expect(try await code("--user=bob", first) == 1)
                #expect(try await users("remove", folder, "--name=bob").code == 0)
                #expect(try await code("--user=bob", second) == 1)
                #expect(try await users("remove", folder, "--name=bob").code == 1)
                let list = try await users("list", folder)
                #expect(list.lines.map { $0.hasPrefix("ada\t") || $0.hasPrefix("bob\tno user\t") } == [true, true])
                #expect(!(list.lines.joined() + list.diagnostics).contains("secret"))
            }
        }
    }

    /// A command shows its password each time, and nobody would present a token after its end.
    @Test func commandsLeaveNoLoginsBehind() async throws {
        try await withFolder { folder in
            let secret = try password("a secret", in: folder)
            try await add("ada", secret, in: folder)
            try await withServer(folder: folder + "/data", options: Self.options, isDevelopment: false) { server in
                let login = ["--user=ada", secret]
                try await importPlanes(server, login, in: folder)
                for command in ["schema", "status", "subscriptions"] {
                    #expect(try await Tool.run([command, server.url()] + login).code == 0)
                }
                let found = try await Tool.run(["query", server.url(), "Plane"] + login)
                #expect(found.code == 0 && found.lines.count == 1)
                let header = "Authorization: Basic " + Data("ada:a secret".utf8).base64EncodedString()
                let answer = try await HTTPAnswer.get("/test/query?q=Plane", port: server.port, header)
                #expect(answer.status == 200, "\(answer)")
                #expect(try await users("list", folder).lines == ["ada\t0 logins"])
                // A store stays, and has a token.
                #expect(try opened(server, header: header)?.token != nil)
                #expect(try await users("list", folder).lines == ["ada\t1 login"])
            }
        }
    }

    @Test func revokingAUserEndsThatUsersConnectionsAlone() async throws {
        try await withFolder { folder in
            let secret = try password("a secret", in: folder)
            for name in ["ada", "bob"] { try await add(name, secret, in: folder) }
            try await withServer(folder: folder + "/data", options: Self.options, isDevelopment: false) { server in
                try await importPlanes(server, ["--user=bob", secret], in: folder)
                func watch(_ name: String) async throws -> ChildProcess {
                    let watcher = try ChildProcess(
                        Tool.path,
                        ["query", server.url(), "Plane", "--watch", "--format=jsonl", "--user=\(name)", secret],
                        input: nil)
                    try await watcher.line(with: "\"state\":\"complete\"")
                    return watcher
                }
                let (ada, bob) = (try await watch("ada"), try await watch("bob"))
                defer { bob.signal(SIGKILL) }
                #expect(try await users("revoke", folder, "--name=ada").code == 0)
                let end = try await ada.finish()
                #expect(end.code == 1 && end.diagnostics.contains("revoked"), "\(end.diagnostics)")
                let insert = #"{"op":"insert","class":"Plane","key":"N2","set":{"seats":6}}"# + "\n"
                let written = try await Tool.run(
                    ["write", server.url(), "--user=bob", secret, "--timeout=2m"], input: insert)
                #expect(written.code == 0, "\(written.diagnostics)")
                try await bob.line(with: "\"N2\"")
            }
        }
    }

    /// What the server says to a session without credentials on a connection whose request has a header.
    private func opened(_ server: ServerProcess, header: String) throws -> (user: String?, token: String?)? {
        let peer = try RawPeer(server.port)
        try peer.upgrade(header: header)
        peer.send(
            .hello(.init(features: [], agent: "test")),
            .open(.init(session: 1, path: "test", options: .readOnly, schema: Schema())))
        var token: String?
        return try peer.receive { message in
            switch message {
            case .login(let login): token = login.credential.map { String(decoding: $0.payload, as: UTF8.self) }
            case .opened(let opened): return .some(.some((opened.userID, token)))
            case .error: return .some(nil)
            default: break
            }
            return nil
        }
    }

    @Test func theAuthorizationOfTheRequestCountsWhereASessionPresentsNothing() async throws {
        try await withFolder { folder in
            try await add("ada", try password("a secret", in: folder), in: folder)
            try await withServer(folder: folder + "/data", options: Self.options, isDevelopment: false) { server in
                func basic(_ text: String) -> String { "Basic " + Data(text.utf8).base64EncodedString() }
                let login = try #require(try opened(server, header: "Authorization: \(basic("ada:a secret"))"))
                #expect(login.user == "ada")
                let token = try #require(login.token)
                #expect(try opened(server, header: "Authorization: Bearer \(token)")?.user == "ada")
                for header in [
                    "Authorization: \(basic("ada:another"))", "Authorization: Bearer x", "X-Nothing: 1",
                    "Authorization: Digest x",
                ] {
                    #expect(try opened(server, header: header) == nil, "\(header)")
                }
            }
        }
    }
}
