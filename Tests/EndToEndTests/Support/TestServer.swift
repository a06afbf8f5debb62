import Foundation
import Glibc
import Sluice

/// The built `sluice`.
enum Tool {
    /// It lies beside the tests.
    static let path: String = {
        let own =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("sluice").path
    }()

    /// Runs it to its end.
    static func run(_ arguments: String..., input: String = "") async throws -> ChildProcess.Exit {
        let process = try ChildProcess(path, arguments, input: input)
        do { return try await process.finish() } catch {
            process.signal(SIGKILL)
            throw error
        }
    }
}

/// A running `sluice serve`.
struct TestServer: Sendable {
    let process: ChildProcess
    /// Such as `ws://127.0.0.1:4711`.
    let address: String
    let port: UInt16

    static func start(folder: String, port: UInt16 = 0, options: [String] = []) async throws -> TestServer {
        let arguments = ["serve", "--data=\(folder)", "--listen=127.0.0.1:\(port)", "--dev"] + options
        let process = try ChildProcess(Tool.path, arguments)
        do {
            let line = try await process.line(with: "listening on ")
            let address = String(line.dropFirst("listening on ".count))
            guard let port = address.split(separator: ":").last.flatMap({ UInt16($0) }) else {
                throw Failure("no port in '\(line)'")
            }
            return TestServer(process: process, address: address, port: port)
        } catch {
            process.signal(SIGKILL)
            throw error
        }
    }

    func url(_ database: String = "test") -> String { "\(address)/\(database)" }

    /// Ends it as a crash would, and waits until it is gone.
    func kill() async throws {
        process.signal(SIGKILL)
        _ = try await process.finish()
    }

    /// A port that nobody listens at now and that the system gives to nobody who takes any: below the range of those.
    static func unusedPort() throws -> UInt16 {
        for _ in 0..<200 {
            let port = UInt16.random(in: 12_000...31_000)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(descriptor) }
            if RawPeer.withAddress(port: port, { bind(descriptor, $0, $1) }) == 0 { return port }
        }
        throw Failure("no unused port found")
    }
}

/// Runs a server over a folder of its own, or the one given, as long as `body` needs it.
func withServer<Result>(
    folder: String? = nil, port: UInt16 = 0, options: [String] = [], _ body: (TestServer) async throws -> Result
) async throws -> Result {
    guard let folder else {
        return try await withFolder { try await withServer(folder: $0, port: port, options: options, body) }
    }
    let server = try await TestServer.start(folder: folder, port: port, options: options)
    do {
        let result = try await body(server)
        try await server.kill()
        return result
    } catch {
        try await server.kill()
        throw error
    }
}
