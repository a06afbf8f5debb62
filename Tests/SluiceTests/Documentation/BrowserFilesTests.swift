import Foundation
import Testing

/// What browsers and Python load: their sizes, and the module's own tests where node is installed.
@Suite struct BrowserFilesTests {
    private let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")

    private func content(_ path: String) throws -> Data { try Data(contentsOf: URL(filePath: "\(root)/\(path)")) }

    @Test func theModuleHasAtMost11KB() throws {
        #expect(try content("Web/sluice.js").count <= 11 << 10)
    }

    @Test func theDashboardHasAtMost60KB() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: "\(root)/Web/dashboard")
        let sizes = try files.map { try content("Web/dashboard/\($0)").count }
        #expect(files.count >= 10)
        #expect(sizes.reduce(0, +) <= 60 << 10)
    }

    /// Scripts and styles in the page would need a policy that allows them.
    @Test func theDashboardMakesNoMarkupOfTexts() throws {
        for file in try FileManager.default.contentsOfDirectory(atPath: "\(root)/Web/dashboard") {
            let text = String(decoding: try content("Web/dashboard/\(file)"), as: UTF8.self)
            for word in [
                "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "style=", "<style",
                "javascript:",
            ] {
                #expect(!text.contains(word), "\(file) has \(word)")
            }
        }
    }

    @Test func thePythonPackageHasAtMost300Lines() throws {
        let text = String(decoding: try content("python/src/sluice/__init__.py"), as: UTF8.self)
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count - 1 <= 300)
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/node")))
    func theModulePassesItsTests() throws {
        let node = Process()
        node.executableURL = URL(filePath: "/usr/bin/node")
        node.arguments = ["--test", "\(root)/Tests/Browser/module-test.mjs"]
        let output = Pipe()
        node.standardOutput = output
        node.standardError = output
        try node.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        node.waitUntilExit()
        #expect(node.terminationStatus == 0, "\(text)")
    }
}
