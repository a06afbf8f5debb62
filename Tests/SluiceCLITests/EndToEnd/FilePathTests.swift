import Foundation
import TestSupport
import Testing

/// The files that the program reads and writes are those that were named.
@Suite(.serialized) struct FilePathTests {
    /// Runs the program where `folder` is the working folder.
    private func run(in folder: String, _ arguments: [String]) async throws -> ChildProcess.Exit {
        let process = try ChildProcess("/bin/sh", ["-c", "cd \"$0\" && exec \"$@\"", folder, Tool.path] + arguments)
        return try await process.finish()
    }

    @Test func filesAreReadAndWrittenWhereTheirNamesSay() async throws {
        let folder = NSTemporaryDirectory() + "sluice-names-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for name in awkwardNames {
            let place = folder + "/" + name
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            func write(_ text: String, _ file: String) throws {
                try Data(text.utf8).write(to: URL(filePath: place + "/" + file))
            }
            let rules = name + ".rules"
            try write(#"{"classes": {"M": {"read": "TRUEPREDICATE", "create": "TRUEPREDICATE"}}}"#, rules)
            try write(String(repeating: "s", count: 32), name + ".secret")
            try write("id,t\n1,x\n", name + ".csv")
            let process = try ChildProcess(
                "/bin/sh",
                [
                    "-c", "cd \"$0\" && exec \"$@\"", place, Tool.path, "serve", "--data=\(name)",
                    "--listen=127.0.0.1:0", "--rules=\(rules)", "--shared-secret-file=\(name).secret",
                    "--metrics-file=\(name).metrics",
                ])
            let server = try await ServerProcess.listening(process)
            let table = name.hasPrefix("-") ? "./\(name).csv" : "\(name).csv"
            let secret = "--secret-file=\(name).secret"
            let imported = try await run(in: place, ["import", server.url(), "M", table, "--key=id", secret])
            // Nobody may add a class under these rules; what matters is that both files were found.
            #expect(!imported.diagnostics.contains("No such file"), "\(name): \(imported.diagnostics)")
            #expect(!imported.diagnostics.contains("cannot be read"), "\(name): \(imported.diagnostics)")
            process.signal(SIGTERM)
            #expect(try await process.finish().code == 0, "\(name)")
            let files = try Set(FileManager.default.contentsOfDirectory(atPath: place).map { Array($0.utf8) })
            let expected = [name, rules, name + ".secret", name + ".csv", name + ".metrics"].map { Array($0.utf8) }
            #expect(files == Set(expected), "\(name): \(files.map { String(decoding: $0, as: UTF8.self) })")
            let databases = try FileManager.default.contentsOfDirectory(atPath: place + "/" + name)
            #expect(databases.contains("server.lock"), "\(name): \(databases)")
        }
    }
}
