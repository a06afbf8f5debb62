import Foundation
import TestSupport
import Testing

/// Checks the public symbols of the modules. The tools read the modules that the build of these tests has left.
@Suite(.timeLimit(.minutes(20))) struct ReferenceTests {
    private let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

    /// - Returns: nil if there is no Python, which the tools need.
    private func run(_ tool: String, _ arguments: String...) async throws -> ChildProcess.Exit? {
        let exit = try await ChildProcess("/usr/bin/env", ["\(root)/Tools/\(tool)"] + arguments).finish()
        guard exit.code != 127 else {
            print("skipped: there is no python3")
            return nil
        }
        return exit
    }

    @Test func thePublicSymbolsAreThoseOfTheListAndEachHasDocumentation() async throws {
        guard let exit = try await run("public-symbols") else { return }
        #expect(exit.code == 0, "\(exit.lines.joined(separator: "\n"))\n\(exit.diagnostics)")
    }

    @Test func theReferenceAndItsArticlesBuildWithoutAWarning() async throws {
        guard let exit = try await run("build-docs", "--check") else { return }
        #expect(exit.code == 0, "\(exit.lines.joined(separator: "\n"))\n\(exit.diagnostics)")
    }
}
