import Dispatch
import Foundation

/// A failure of a condition that a test waited for, or of the test's environment.
package struct Failure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// The longest time that a single wait takes.
package let waitMax: Duration = .seconds(300)

/// Runs blocking code on a thread that runs no tests.
package func blocking<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(with: Swift.Result(catching: body)) }
    }
}

/// Waits until a condition holds, and fails if it does not hold in time.
///
/// Other processes do not report what they have done, so the condition is checked again and again; no wait has a fixed
/// length.
package func wait(for what: String, until condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + waitMax
    while try await !condition() {
        guard ContinuousClock.now < deadline else { throw Failure("waited in vain for \(what)") }
        try await Task.sleep(for: .milliseconds(2))
    }
}

/// Makes a folder that exists while `body` runs.
package func withFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let path = NSTemporaryDirectory() + "sluice-end-to-end-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try await body(path)
}

/// Runs a program to its end and blocks the thread meanwhile. Foundation's `Process` waits for a descriptor that
/// programs which are started at the same time inherit, so it may wait for their ends, too.
///
/// - Returns: the code with which it ended.
package func runBlocking(_ program: String, _ arguments: [String]) throws -> Int32 {
    try ChildProcess(program, arguments).finishBlocking().code
}

/// Runs a program to its end; nil if there is no program of that name.
@discardableResult
package func run(_ program: String, _ arguments: [String], in folder: String = ".") async throws -> ChildProcess.Exit? {
    let script = #"cd "$0" && command -v "$1" > /dev/null || exit 127; exec "$@""#
    let exit = try await ChildProcess("/bin/sh", ["-c", script, folder, program] + arguments).finish()
    return exit.code == 127 ? nil : exit
}
