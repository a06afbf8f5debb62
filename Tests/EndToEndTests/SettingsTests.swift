import Foundation
import Glibc
import TestSupport
import Testing

/// The settings of a server process: where they are from, and that a running server reads them again.
@Suite(.serialized) struct SettingsTests {
    private func write(_ text: String, to path: String) throws {
        try text.write(toFile: path, atomically: true, encoding: .utf8)
    }

    @Test func aRunningServerReadsItsSettingsAgain() async throws {
        try await withFolder { folder in
            let (file, rules) = (folder + "/s.conf", folder + "/rules.json")
            let open =
                #"{"database":{"schema":true,"reports":true},"classes":{"Plane":{"read":true,"create":true,"update":true,"delete":true}}}"#
            try write(open, to: rules)
            let settings = """
                data = \(folder)/data
                listen = 127.0.0.1:0
                allow-anonymous = true
                rules = \(rules)
                log-format = json

                """
            try write(settings + "log-level = warning\n", to: file)
            let process = try ChildProcess(Tool.path, ["serve", "--config=\(file)"])
            defer { process.signal(SIGKILL) }
            let server = try await ServerProcess.listening(process)
            try await server.expectService("a")
            #expect(!process.diagnostics.contains("a session was opened"))

            // Levels, rules and quotas hold at once; another address waits for a restart.
            try write(#"{"database":{"reports":true},"classes":{"Plane":{"read":true}}}"#, to: rules)
            try write(
                settings.replacing("127.0.0.1:0", with: "127.0.0.1:1")
                    + "log-level = info\nmax-sessions-per-user = 1\n",
                to: file)
            process.signal(SIGHUP)
            try await process.line(
                .diagnostics, with: "the settings were read again", "log-level, rules, max-sessions-per-user")
            try await process.line(.diagnostics, with: "settings that have changed need a restart", "\"listen\"")
            let insert = #"{"op":"insert","class":"Plane","key":"N9","set":{"seats":6}}"# + "\n"
            try await wait(for: "the rules to hold") {
                try await Tool.run("write", server.url("a"), input: insert).diagnostics.contains("rules")
            }
            try await Fixture.withStore(server.url("a")) { store in
                _ = try await store.found("Plane")
                let second = try await Tool.run("query", server.url("a"), "Plane", "--timeout=300ms")
                #expect(second.diagnostics.contains("quota"), "\(second.diagnostics)")
            }

            // What is wrong changes nothing.
            try write(settings + "log-level = debug\nlisen = x\n", to: file)
            let reload = try await Tool.run("reload", "--data=\(folder)/data")
            #expect(reload.code == 1 && reload.diagnostics.contains("\(file):7: there is no setting 'lisen'"))
            try await process.line(.diagnostics, with: "the settings could not be read again", "s.conf:7")
            #expect(try await Tool.run("log-level", "--data=\(folder)/data").lines.first == "level: info")
            try write("{\"classes\": {\n\"A\": {\"reed\": true},\n\"B\": {\"read\": 7}}}", to: rules)
            try write(settings, to: file)
            // Each problem is on a line of its own.
            let refused = try await Tool.run("reload", "--data=\(folder)/data")
            let lines = refused.diagnostics.split(separator: "\n")
            #expect(refused.code == 1 && lines.first?.contains("the rules are refused") == true, "\(refused)")
            #expect(lines.count >= 2 && lines.dropFirst().allSatisfy { $0.hasPrefix("  ") }, "\(refused)")
            #expect(!refused.diagnostics.contains("\\u{"), "\(refused)")
            process.signal(SIGTERM)
            #expect(try await process.finish().code == 0)
        }
    }

    @Test func settingsArePrintedWithTheirOrigins() async throws {
        try await withFolder { folder in
            try write("data = \(folder)/data\nlisten = 127.0.0.1:1\n", to: folder + "/s.conf")
            let script =
                "SLUICE_LISTEN=127.0.0.1:2 SLUICE_CONFIG=\(folder)/s.conf exec \(Tool.path) serve --dev --print-config"
            let printed = try await ChildProcess("/bin/sh", ["-c", script]).finish()
            #expect(printed.code == 0)
            #expect(printed.lines.contains { $0.hasPrefix("listen = 127.0.0.1:2 ") && $0.hasSuffix("# SLUICE_LISTEN") })
            #expect(printed.lines.contains { $0.hasPrefix("dev = true ") && $0.hasSuffix("# --dev") })
            #expect(!FileManager.default.fileExists(atPath: folder + "/data"))
        }
    }

    /// A file says something new when it has changed, whether the server was started or has read it again.
    @Test(arguments: [true, false]) func aStartAndAReadingTakeTheSameRules(isStart: Bool) async throws {
        try await withFolder { folder in
            let (file, rules) = (folder + "/s.conf", folder + "/rules.json")
            func text(_ condition: String) -> String {
                "{\"database\": {\"schema\": true, \"reports\": true, \"rules\": true}, "
                    + "\"classes\": {\"Plane\": {\"read\": \"\(condition)\", \"create\": true}}}"
            }
            try write(text("seats > 1"), to: rules)
            try write(
                "data = \(folder)/data\nlisten = 127.0.0.1:0\nallow-anonymous = true\nrules = \(rules)\n", to: file)
            func start() async throws -> ServerProcess {
                try await ServerProcess.listening(try ChildProcess(Tool.path, ["serve", "--config=\(file)"]))
            }
            func stop(_ server: ServerProcess) async throws {
                server.process.signal(SIGTERM)
                #expect(try await server.process.finish().code == 0)
            }
            var server = try await start()
            defer { server.process.signal(SIGKILL) }
            try await server.expectService("a")
            /// Starts the server again, or has it read its files; the database is open then.
            func compare() async throws {
                if isStart {
                    try await stop(server)
                    server = try await start()
                } else {
                    #expect(try await Tool.run("reload", "--data=\(folder)/data").code == 0)
                }
                #expect(try await Tool.run("schema", server.url("a")).code == 0)
            }
            func holds(_ condition: String) async throws {
                try await wait(for: condition) {
                    try await Tool.run("rules", "show", server.url("a")).lines.joined().contains("\"\(condition)\"")
                }
            }
            try await holds("seats > 1")
            try write(text("seats > 2"), to: folder + "/other.json")
            #expect(try await Tool.run("rules", "deploy", server.url("a"), folder + "/other.json").code == 0)
            // The file says what it said before.
            try await compare()
            try await holds("seats > 2")
            try write(text("seats > 3"), to: rules)
            try await compare()
            try await holds("seats > 3")
            // A file that goes back is as good as any other.
            try write(text("seats > 1"), to: rules)
            try await compare()
            try await holds("seats > 1")
            let history = try await Tool.run("rules", "history", server.url("a")).lines
            let authors = history.map { $0.split(separator: "\t").dropFirst(2).first.map(String.init) ?? "" }
            let again = isStart ? "the server's file" : "the server's file, read again"
            #expect(authors == [again, again, "nobody in particular", "the server's file"], "\(history)")
            try await stop(server)
        }
    }

    // MARK: The service manager

    @Test func theServiceManagerIsToldOfTheWholeLife() async throws {
        try await withFolder { folder in
            let manager = try ManagerSocket(folder + "/notify")
            let script =
                "NOTIFY_SOCKET=\(folder)/notify WATCHDOG_USEC=20000 exec \(Tool.path) serve --data=\(folder)/data "
                + "--listen=127.0.0.1:0 --dev"
            let process = try ChildProcess("/bin/sh", ["-c", script])
            defer { process.signal(SIGKILL) }
            let server = try await ServerProcess.listening(process)
            _ = try await manager.hears("READY=1\nSTATUS=listening on \(server.address)")
            for _ in 0..<3 { _ = try await manager.hears("WATCHDOG=1") }
            process.signal(SIGHUP)
            let reloading = try await manager.hears("RELOADING=1\n")
            #expect(reloading.contains("\nMONOTONIC_USEC=") && reloading.contains("\nSTATUS=reading settings"))
            let ready = try await manager.hears("READY=1\n")
            #expect(ready == "READY=1\nSTATUS=listening on \(server.address)")
            #expect(try await Tool.run("reload", "--data=\(folder)/data").code == 0)
            _ = try await manager.hears("RELOADING=1\n")
            _ = try await manager.hears("READY=1\n")
            _ = try await manager.hears("WATCHDOG=1")
            process.signal(SIGTERM)
            let stopping = try await manager.hears("STOPPING=1\n")
            #expect(stopping == "STOPPING=1\nEXTEND_TIMEOUT_USEC=60000000\nSTATUS=stopping")
            #expect(try await process.finish().code == 0)
        }
    }

    @Test func theServiceManagerIsToldThatADrainTakesTimeAndThatAWrongFileIsNoEnd() async throws {
        try await withFolder { folder in
            let manager = try ManagerSocket(folder + "/notify")
            try write("data = \(folder)/data\nlisten = 127.0.0.1:0\ndev = true\ndrain = 10m\n", to: folder + "/s.conf")
            let script =
                "NOTIFY_SOCKET=\(folder)/notify WATCHDOG_USEC=20000 exec \(Tool.path) serve --config=\(folder)/s.conf"
            let process = try ChildProcess("/bin/sh", ["-c", script])
            defer { process.signal(SIGKILL) }
            let server = try await ServerProcess.listening(process)
            let first = try await manager.hears("")
            #expect(first == "READY=1\nSTATUS=listening on \(server.address)")
            try write("nonsense\n", to: folder + "/s.conf")
            process.signal(SIGHUP)
            _ = try await manager.hears("RELOADING=1\n")
            // It serves on with what it had.
            _ = try await manager.hears("READY=1\n")
            process.signal(SIGTERM)
            let stopping = try await manager.hears("STOPPING=1\n")
            #expect(stopping == "STOPPING=1\nEXTEND_TIMEOUT_USEC=660000000\nSTATUS=draining")
            // While it drains it works, and the manager goes on to hear so.
            for _ in 0..<3 { _ = try await manager.hears("WATCHDOG=1") }
            #expect(try await HTTPAnswer.get("/health/ready", port: server.port).status == 503)
            process.signal(SIGTERM)
            #expect(try await process.finish().code != 0)
        }
    }

    @Test func aServerThatCannotStartNeverSaysThatItIsReady() async throws {
        try await withFolder { folder in
            let manager = try ManagerSocket(folder + "/notify")
            try write("not a folder", to: folder + "/data")
            let script =
                "NOTIFY_SOCKET=\(folder)/notify exec \(Tool.path) serve --data=\(folder)/data --listen=127.0.0.1:0 --dev"
            #expect(try await ChildProcess("/bin/sh", ["-c", script]).finish().code == 1)
            #expect(manager.next() == nil)
        }
    }
}

/// The socket of a service manager.
private final class ManagerSocket: Sendable {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: Array(path.utf8.prefix(107))) }
        let isBound = withUnsafePointer(to: name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isBound else { throw Failure("no socket at \(path): \(errno)") }
    }

    deinit { close(descriptor) }

    /// The next datagram; nil if none has come.
    func next() -> String? {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }

    /// Waits for a datagram that begins with a text; others before it are passed over.
    func hears(_ text: String) async throws -> String {
        var heard = ""
        try await wait(for: text) {
            while let said = next() {
                guard said.hasPrefix(text) else { continue }
                heard = said
                return true
            }
            return false
        }
        return heard
    }
}
