import Foundation
import TestSupport
import Testing

#if SLUICE_MACROS
    /// What the compiler says of links across the boundary between classes that sync and classes that do not.
    @Suite(.timeLimit(.minutes(10))) struct LocalBoundaryTests {
        private let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")

        /// The errors that the compiler finds in a program that uses the library.
        private func errors(in source: String) async throws -> [String] {
            let folder = FileManager.default.temporaryDirectory.path + "/sluice-compile-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let file = folder + "/Program.swift"
            try "import Sluice\n\(source)\n".write(toFile: file, atomically: true, encoding: .utf8)
            let build = URL(fileURLWithPath: Tool.path).deletingLastPathComponent().path
            let modules = ["CSQLite", "COpenSSL", "CEpoll", "CLZ4"].flatMap {
                ["-Xcc", "-fmodule-map-file=\(root)/Sources/\($0)/module.modulemap"]
            }
            let compiler = try ChildProcess(
                "/usr/bin/env",
                [
                    "swiftc", "-typecheck", "-swift-version", "6", "-I", build + "/Modules", "-load-plugin-executable",
                    build + "/SluiceMacros-tool#SluiceMacros",
                ] + modules + [file])
            let diagnostics = try await compiler.finish().diagnostics
            return diagnostics.split(separator: "\n").map(String.init).filter {
                $0.contains("Program.swift:") && $0.contains(": error: ")
            }
        }

        @Test func aLinkAcrossTheBoundaryDoesNotCompile() async throws {
            let found = try await errors(
                in: """
                    @Model struct Car { @PrimaryKey var vin: String
                        var note: Link<Note>? }
                    @Model(.local) struct Note { var text = ""
                        var cars: [String: Link<Car>] = [:] }
                    """)
            #expect(found.count == 2, "\(found)")
            let message =
                "the link leads from a class that syncs to one that is local, or back; declare both models alike"
            #expect(found.allSatisfy { $0.contains(message) })
            #expect(
                found.contains { $0.contains("Program.swift:3:") } && found.contains { $0.contains("Program.swift:5:") }
            )
        }

        @Test func linksOnOneSideCompile() async throws {
            let found = try await errors(
                in: """
                    @Model struct Car { var dealer: Link<Dealer>?
                        var parts: Links<Car> = [] }
                    struct Dealer: KeyPathModel { var name = ""
                        var objectMetadata = ObjectMetadata()
                        static let modelDefinition = ModelDefinition(Dealer.self) { $0.property("name", \\.name) } }
                    @Model(.local) struct Note { var other: Link<Note>?
                        var all: [Link<Note>] = [] }
                    """)
            #expect(found.isEmpty, "\(found)")
        }
    }
#endif
