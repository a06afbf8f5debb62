import Foundation

/// The Swift compiler, asked what it says of a program that uses the built library.
package enum Compiler {
    /// An error or a warning, with the line that it is about.
    package struct Message: Hashable, Sendable, CustomStringConvertible {
        package let line: Int
        package let text: String

        package var description: String { "\(line): \(text)" }
    }

    /// Type-checks a program, and returns its errors and warnings in the order of lines.
    package static func messages(of source: String) async throws -> [Message] {
        let folder = NSTemporaryDirectory() + "sluice-compiled-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = folder + "/program.swift"
        try Data(source.utf8).write(to: URL(fileURLWithPath: file))
        let products = URL(fileURLWithPath: Tool.path).deletingLastPathComponent().path
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().path
        var arguments = [
            "-typecheck", "-swift-version", "6", "-package-name", "program", "-I", products + "/Modules",
            "-load-plugin-executable", products + "/SluiceMacros-tool#SluiceMacros", "-module-cache-path",
            products + "/ModuleCache", "-diagnostic-style", "llvm", file,
        ]
        for name in ["CSQLite", "COpenSSL", "CEpoll", "CLZ4"] {
            arguments += ["-Xcc", "-fmodule-map-file=\(root)/Sources/\(name)/module.modulemap"]
        }
        let process = try ChildProcess("/usr/bin/env", ["swiftc"] + arguments)
        let end = try await process.finish()
        return end.diagnostics.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: ":", maxSplits: 4).map(String.init)
            guard parts.count == 5, parts[0] == file, let number = Int(parts[1]) else { return nil }
            let kind = parts[3].trimmingCharacters(in: .whitespaces)
            guard kind == "error" || kind == "warning" else { return nil }
            return Message(line: number, text: kind + ":" + parts[4])
        }.sorted { $0.line < $1.line }
    }
}
