import Foundation
import Glibc
import Sluice
import TestSupport
import Testing

/// What the operator of a server process asks it by its admin socket.
@Suite(.serialized) struct AdminSocketTests {
    @Test func sessionsAreShownWithWhatTheyHaveAndCanBeEnded() async throws {
        try await withFolder { folder in
            // A path that is longer than the address of a socket.
            let data = folder + "/" + String(repeating: "long", count: 40)
            let audit = folder + "/audit.jsonl"
            try await withServer(folder: data, options: ["--audit-log=\(audit)"]) { server in
                try await Fixture.withStore(server.url("shop")) { store in
                    for number in 0..<3 { try await store.addPlane("N\(number)") }
                    _ = try await store.found("Plane")
                    let observed = try store.records("Plane").observe { _ in }
                    defer { observed.stop() }
                    let shown = try await Tool.run("sessions", "--data=\(data)", "--format=jsonl")
                    #expect(shown.code == 0 && shown.lines.count == 1, "\(shown)")
                    let line = shown.lines[0]
                    for part in [
                        #""database":"shop""#, #""user":null"#, #""login":"anonymous""#, #""mode":"read and write""#,
                        #""address":"127.0.0.1:"#, #""versionLag":0,"waitingBytes":0"#,
                    ] {
                        #expect(line.contains(part), "\(line)")
                    }
                    let id = try #require(line.split(separator: "\"").dropFirst(3).first.map(String.init))
                    let ended = try await Tool.run("sessions", "--data=\(data)", "--end=\(id)")
                    #expect(ended.code == 0 && ended.lines == ["ended the session \(id)"], "\(ended)")
                    try await server.process.line(
                        .diagnostics, with: "a session ended", "the server's operator has ended the session")
                    let asker = #""cause":"administrator","by":"operator \#(NSUserName())""#
                    try await wait(for: "the audit log") {
                        try String(contentsOfFile: audit, encoding: .utf8).contains(asker)
                    }
                    // Its client comes again by itself, and nothing is lost.
                    try await store.addPlane("N9")
                    #expect(try await store.found("Plane").count == 4)
                    let again = try await Tool.run("sessions", "--data=\(data)", "--end=\(id)")
                    #expect(again.code == 1 && again.diagnostics.contains("there is no session '\(id)'"))
                }
            }
        }
    }

    @Test func costsLevelsAndDrainingAreAskedFor() async throws {
        try await withFolder { folder in
            try await withServer(folder: folder) { server in
                try await Fixture.withStore(server.url("shop")) { store in
                    try await store.addPlane("N1")
                    let observed = try store.records("Plane").observe { _ in }
                    defer { observed.stop() }
                    _ = try await store.found("Plane")
                    for number in 2..<12 { try await store.addPlane("N\(number)") }
                    let all = try await Tool.run("top", "--data=\(folder)", "--format=jsonl")
                    #expect(all.code == 0 && all.lines.count == 1, "\(all)")
                    #expect(all.lines.first?.contains(#""database":"shop","query":"Plane""#) == true, "\(all)")
                    #expect(all.lines.first?.contains(#""rows":11"#) == true, "\(all)")
                    #expect(all.lines.first?.contains(#""changed":10"#) == true, "\(all)")
                    let one = try await Tool.run("top", server.url("shop"), "--once", "--format=table")
                    #expect(one.code == 0 && one.lines.last == "1 of 1 live queries, the costliest first", "\(one)")
                }
                #expect(try await Tool.run("log-level", "--data=\(folder)").lines == ["level: info", "domains: {}"])
                let set = try await Tool.run("log-level", "debug", "--data=\(folder)", "--log-domains=login=off")
                #expect(set.lines == ["level: debug", #"domains: {"login":"off"}"#])
                try await server.expectService()
                #expect(server.process.diagnostics.contains("\"level\":\"debug\""))
                let socket = try FileManager.default.attributesOfItem(atPath: folder + "/admin.sock")
                #expect(socket[.posixPermissions] as? Int == 0o600)
                #expect(try await Tool.run("drain", "--data=\(folder)").lines == ["draining"])
                #expect(try await HTTPAnswer.get("/health/ready", port: server.port).status == 503)
                try await server.expectService()
            }
            // Nobody answers any more; the server was killed, and has left the socket.
            let gone = try await Tool.run("sessions", "--data=\(folder)")
            #expect(gone.code == 1 && gone.diagnostics.contains("no server answers at '\(folder)/admin.sock'"))
        }
    }

    @Test func aClientThatReadsNothingIsBehindByVersions() async throws {
        try await withFolder { folder in
            try await withServer(folder: folder) { server in
                try await Fixture.withStore(server.url("shop")) { store in
                    try await store.addPlane("N1")
                    let watcher = try ChildProcess(
                        Tool.path, ["query", server.url("shop"), "Entry", "--watch", "--format=jsonl"], input: nil)
                    defer { watcher.signal(SIGKILL) }
                    try await watcher.line(with: "\"state\":\"complete\"")
                    /// The versions that the watcher lacks, and the bytes that wait for it.
                    func lag() async throws -> (versions: Int, bytes: Int) {
                        let shown = try await Tool.run("sessions", "--data=\(folder)", "--format=jsonl")
                        let line = shown.lines.first { $0.contains("\"mode\":\"read\"") } ?? ""
                        func number(_ name: String) -> Int? {
                            line.components(separatedBy: "\"\(name)\":").last.flatMap {
                                Int($0.prefix(while: \.isNumber))
                            }
                        }
                        return (try #require(number("versionLag")), try #require(number("waitingBytes")))
                    }
                    #expect(try await lag() == (0, 0))
                    watcher.signal(SIGSTOP)
                    // More than the buffers of two sockets take, each a version.
                    var generator = SeededGenerator(seed: 7)
                    for number in 0..<100 as Range<Int64> {
                        // What cannot be compressed.
                        let words = (0..<12_000).map { _ in String(generator.next(), radix: 16) }
                        let payload = Value.string(words.joined())
                        try await store.write {
                            try $0.insert(Record(Fixture.entry.get(), ["number": .int(number), "payload": payload]))
                        }
                    }
                    try await store.uploaded(timeout: waitMax)
                    let behind = try await lag()
                    #expect((1...100).contains(behind.versions) && behind.bytes > 0, "\(behind)")
                    // One more version is one more.
                    try await store.addPlane("N2")
                    #expect(try await lag().versions == behind.versions + 1)
                    watcher.signal(SIGCONT)
                    try await wait(for: "the watcher to have everything") { try await lag() == (0, 0) }
                }
            }
        }
    }

    @Test func aServerThatIsStoppedIsNotWaitedForForEver() async throws {
        try await withFolder { folder in
            try await withServer(folder: folder) { server in
                server.process.signal(SIGSTOP)
                let exit = try await Tool.run("sessions", "--data=\(folder)", "--timeout=200ms")
                #expect(exit.code == 1 && exit.diagnostics.contains("has not answered within 0.2 seconds"), "\(exit)")
                server.process.signal(SIGCONT)
                #expect(try await Tool.run("sessions", "--data=\(folder)").code == 0)
            }
        }
    }

    @Test func aSocketThatWasRemovedIsMadeAgain() async throws {
        try await withFolder { folder in
            try await withServer(folder: folder) { server in
                let path = folder + "/admin.sock"
                #expect(try await Tool.run("sessions", "--data=\(folder)").code == 0)
                try FileManager.default.removeItem(atPath: path)
                #expect(try await Tool.run("sessions", "--data=\(folder)").code == 1)
                try await wait(for: "the socket") { try await Tool.run("sessions", "--data=\(folder)").code == 0 }
                let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(mode == 0o600)
                try await server.process.line(.diagnostics, with: "the admin socket was made again")
                server.process.signal(SIGTERM)
                #expect(try await server.process.finish().code == 0)
                #expect(access(path, F_OK) != 0)
            }
        }
    }

    @Test func anotherUserIsSentAway() async throws {
        guard geteuid() == 0, let known = try await run("setpriv", ["--version"]), known.code == 0 else { return }
        try await withServer(folder: NSTemporaryDirectory() + "sluice-admin-" + UUID().uuidString) { server in
            let folder = try #require(
                server.process.diagnostics.split(separator: "\"data\":\"").last?.split(separator: "\"").first)
            defer { try? FileManager.default.removeItem(atPath: String(folder)) }
            // Whatever the modes say.
            for (path, mode) in [(String(folder), 0o777), (folder + "/admin.sock", 0o777)] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            }
            let exit = try await run(
                "setpriv", ["--reuid=65534", "--clear-groups", Tool.path, "sessions", "--data=\(folder)"])
            guard let exit, exit.code != 126, exit.code != 127 else { return }
            #expect(exit.code == 1)
            // Not by the modes of files: the server has looked at who asks.
            #expect(exit.diagnostics.contains("only the user who runs it, and root, may ask"), "\(exit)")
        }
    }

    @Test func whatIsNoQuestionIsRefused() async throws {
        try await withFolder { folder in
            try await withServer(folder: folder) { server in
                for (path, method, body, status, word) in [
                    ("/nothing", "GET", "", "404", "nothing"), ("/sessions/end", "POST", "{", "400", "no JSON object"),
                    ("/sessions/end", "POST", "{}", "400", "name a session"), ("/sessions", "POST", "", "405", "GET"),
                    ("/log-level", "POST", #"{"level":"loud"}"#, "400", "is no level"),
                    ("/log-level", "POST", #"{"domains":{"x":"info"}}"#, "400", "is no domain"),
                    ("/sessions/end", "POST", String(repeating: "x", count: 70_000), "413", ""),
                ] {
                    let exit = try await run(
                        "curl",
                        [
                            "-s", "-i", "--unix-socket", folder + "/admin.sock", "-X", method, "--data-binary", body,
                            "http://localhost\(path)",
                        ])
                    guard let exit else { return }
                    #expect(exit.lines.first?.contains(status) == true, "\(path) \(exit)")
                    #expect(word.isEmpty || exit.lines.joined().contains(word), "\(path) \(exit)")
                }
                try await server.expectService()
            }
        }
    }
}
