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
            try write("{", to: rules)
            try write(settings, to: file)
            #expect(try await Tool.run("reload", "--data=\(folder)/data").diagnostics.contains("the rules are refused"))
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
            try await manager.hears("READY=1\nSTATUS=listening on \(server.address)")
            for _ in 0..<3 { try await manager.hears("WATCHDOG=1") }
            process.signal(SIGHUP)
            try await manager.hears("RELOADING=1\n")
            try await manager.hears("READY=1\n")
            process.signal(SIGTERM)
            try await manager.hears("STOPPING=1\n")
            #expect(try await process.finish().code == 0)
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

    private func next() -> String? {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }

    /// Waits for a datagram that begins with a text; others before it are passed over.
    func hears(_ text: String) async throws {
        try await wait(for: text) {
            while let said = next() { if said.hasPrefix(text) { return true } }
            return false
        }
    }
}
