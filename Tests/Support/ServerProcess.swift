import Foundation
import Glibc

/// The built program `sluice`.
package enum Tool {
    /// The path of the program, which is in the same folder as the tests.
    package static let path = path(of: "sluice")

    /// The path of another built program of the package.
    package static func path(of name: String) -> String {
        let own =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent(name).path
    }

    /// Runs the program to its end.
    package static func run(_ arguments: String..., input: String = "") async throws -> ChildProcess.Exit {
        try await run(arguments, input: input)
    }

    /// Runs it to its end.
    package static func run(_ arguments: [String], input: String = "") async throws -> ChildProcess.Exit {
        let process = try ChildProcess(path, arguments, input: input)
        do { return try await process.finish() } catch {
            process.signal(SIGKILL)
            throw error
        }
    }
}

/// A running `sluice serve`.
package struct ServerProcess: Sendable {
    package let process: ChildProcess
    /// The server's address, such as `ws://127.0.0.1:4711`.
    package let address: String
    package let port: UInt16

    /// - Parameters:
    ///   - isDevelopment: whether everybody may log in.
    ///   - descriptorCountMax: how many files the server may have open; nil for as many as the tests.
    ///   - environment: what the process has in its environment beside what the tests have.
    package static func start(
        folder: String, port: UInt16 = 0, options: [String] = [], isDevelopment: Bool = true,
        descriptorCountMax: Int? = nil, environment: [String: String] = [:]
    ) async throws -> ServerProcess {
        let mode = isDevelopment ? ["--dev"] : []
        let arguments = ["serve", "--data=\(folder)", "--listen=127.0.0.1:\(port)"] + mode + options
        let process =
            if let descriptorCountMax {
                try ChildProcess(
                    "/bin/sh", ["-c", "ulimit -n \(descriptorCountMax); exec \"$0\" \"$@\"", Tool.path] + arguments)
            } else if environment.isEmpty {
                try ChildProcess(Tool.path, arguments)
            } else {
                try ChildProcess("/usr/bin/env", environment.map { "\($0)=\($1)" } + [Tool.path] + arguments)
            }
        return try await listening(process)
    }

    /// Waits until a server listens.
    package static func listening(_ process: ChildProcess) async throws -> ServerProcess {
        do {
            let line = try await process.line(with: "listening on ")
            let address = String(line.dropFirst("listening on ".count))
            guard let port = address.split(separator: ":").last.flatMap({ UInt16($0) }) else {
                throw Failure("no port in '\(line)'")
            }
            return ServerProcess(process: process, address: address, port: port)
        } catch {
            process.signal(SIGKILL)
            throw error
        }
    }

    package func url(_ database: String = "test") -> String { "\(address)/\(database)" }

    /// Kills the server, as a crash would, and waits until it has ended.
    package func kill() async throws {
        process.signal(SIGKILL)
        _ = try await process.finish()
    }
}

/// Runs a server over a new folder, or over the given one, while `body` runs.
package func withServer<Result>(
    folder: String? = nil, port: UInt16 = 0, options: [String] = [], isDevelopment: Bool = true,
    descriptorCountMax: Int? = nil,
    _ body: (ServerProcess) async throws -> Result
) async throws -> Result {
    guard let folder else {
        return try await withFolder {
            try await withServer(
                folder: $0, port: port, options: options, isDevelopment: isDevelopment,
                descriptorCountMax: descriptorCountMax, body)
        }
    }
    let server = try await ServerProcess.start(
        folder: folder, port: port, options: options, isDevelopment: isDevelopment,
        descriptorCountMax: descriptorCountMax)
    do {
        let result = try await body(server)
        try await server.kill()
        return result
    } catch {
        try await server.kill()
        // What fails at a server is often explained by what it has said, such as why it crashed.
        print("\(error), at \(server.url()), which has said at last:\n\(server.process.diagnostics.suffix(4_000))")
        throw error
    }
}
