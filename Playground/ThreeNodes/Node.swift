import Foundation

/// A server process, one of several of a cluster.
final class Node {
    /// How to start a server process of the cluster.
    struct Plan {
        let program: String
        let journal: String
        let folder: String

        /// Prints how the cluster is.
        func status() throws {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = ["cluster", "status", "--journal=\(journal)"]
            try process.run()
            process.waitUntilExit()
        }
    }

    let name: String
    /// The port on which it listens, also after a restart.
    private(set) var port: UInt16 = 0
    private let plan: Plan
    private var process: Process?

    /// Starts the process, and returns once it listens.
    init(_ name: String, _ plan: Plan) throws {
        self.name = name
        self.plan = plan
        try start()
    }

    var url: String { "ws://127.0.0.1:\(port)/departures" }

    /// Starts the process again, on the port and with the folder that it had.
    func start() throws {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: plan.program)
        process.arguments = [
            "serve", "--journal=\(plan.journal)", "--data=\(plan.folder)/\(name)", "--node=\(name)", "--dev",
            "--listen=127.0.0.1:\(port)", "--log-level=warning",
        ]
        process.standardOutput = output
        try process.run()
        var line = ""
        while !line.hasSuffix("\n") {
            guard let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty else {
                throw DemoError("the node \(name) did not start; its reason is above")
            }
            line += String(decoding: byte, as: UTF8.self)
        }
        guard let port = line.split(separator: ":").last.flatMap({ UInt16($0.dropLast()) }) else {
            throw DemoError("the node \(name) has said '\(line)'")
        }
        self.port = port
        self.process = process
    }

    /// Ends the process at once, as a crash would.
    func kill() {
        guard let process, process.isRunning else { return }
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Lets the process end in order.
    func stop() {
        guard let process, process.isRunning else { return }
        process.terminate()
        process.waitUntilExit()
    }
}

/// Why the demo cannot go on.
struct DemoError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
