import Foundation
import TestSupport
import Testing

/// A package that depends on this one by version, as new users do.
@Suite(.timeLimit(.minutes(20))) struct DependencyTests {
    private let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

    private func run(_ program: String, _ arguments: String...) async throws -> ChildProcess.Exit {
        try await ChildProcess("/usr/bin/env", [program] + arguments).finish()
    }

    /// Versions of a package come from the tags of its repository. SwiftPM refuses packages with unsafe flags as
    /// dependencies by version, unless their manifest is of version 6.2 or later: it plans the build before it builds
    /// anything, so the smallest target is enough.
    @Test func aPackageThatDependsOnThisOneByVersionBuilds() async throws {
        try await withFolder { folder in
            let repository = folder + "/sluice"
            let files = try await run("git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard")
            try #require(files.code == 0, "\(files.diagnostics)")
            for file in files.lines where FileManager.default.fileExists(atPath: "\(root)/\(file)") {
                let target = URL(fileURLWithPath: "\(repository)/\(file)")
                try FileManager.default.createDirectory(
                    at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
                try FileManager.default.copyItem(at: URL(fileURLWithPath: "\(root)/\(file)"), to: target)
            }
            let author = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
            for step in [["init", "-q"], ["add", "-A"], author + ["commit", "-qm", "test"], ["tag", "0.1.0"]] {
                let exit = try await ChildProcess("/usr/bin/env", ["git", "-C", repository] + step).finish()
                try #require(exit.code == 0, "git \(step): \(exit.diagnostics)")
            }
            let app = folder + "/app"
            try FileManager.default.createDirectory(atPath: app + "/Sources/App", withIntermediateDirectories: true)
            try """
            // swift-tools-version: 6.2
            import PackageDescription

            let package = Package(
                name: "App",
                dependencies: [.package(url: "file://\(repository)", from: "0.1.0")],
                targets: [
                    .executableTarget(name: "App", dependencies: [.product(name: "Sluice", package: "sluice")])
                ])
            """.write(toFile: app + "/Package.swift", atomically: true, encoding: .utf8)
            try "import Sluice\nprint(\"hello\")\n".write(
                toFile: app + "/Sources/App/main.swift", atomically: true, encoding: .utf8)
            let exit = try await run("swift", "build", "--package-path", app, "--target", "SluiceModel")
            #expect(exit.code == 0, "\(exit.lines.suffix(20)) \(exit.diagnostics)")
        }
    }

    @Test func theProgramsVersionIsTheNewestOfTheChangelog() async throws {
        let changes = try String(contentsOfFile: root + "/CHANGELOG.md", encoding: .utf8)
        let newest = try #require(changes.firstMatch(of: #/\n## ([0-9]+\.[0-9]+\.[0-9]+)/#)?.1)
        #expect(try await Tool.run("--version").lines == ["sluice \(newest)"])
    }

    /// One `import Foundation` puts 40 MB of Unicode data into the program of `make dist`.
    @Test func noSourceImportsMoreThanTheEssentialsOfFoundation() throws {
        let sources = URL(fileURLWithPath: root + "/Sources")
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var imports = 0
        for case let file as URL in files where file.pathExtension == "swift" {
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                guard let module = line.wholeMatch(of: #/\s*(?:\w+ )?import ([A-Za-z.]+)\s*/#)?.1 else { continue }
                imports += 1
                #expect(
                    !["Foundation", "FoundationInternationalization", "FoundationNetworking"].contains(module),
                    "\(file.lastPathComponent) imports \(module)")
            }
        }
        #expect(imports > 500)
    }
}
