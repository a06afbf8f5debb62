import Foundation
import Glibc
import SluiceModel
import Testing

@testable import SluiceWire

/// Messages that Swift writes are read by a client in Python that was written from PROTOCOL.md, and vice versa.
@Suite struct StrangerTests {
    private static let script = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../Strangers/python/sluice_client.py").standardizedFileURL.path

    @Test func clientInPythonReadsWhatSwiftWritesAndSwiftReadsWhatItWrites() throws {
        var samples = SampleGenerator(seed: 2013)
        var lines: [String] = []
        for _ in 0..<150 {
            // A door of the server alone is told places.
            let messages = samples.many(upTo: 3) { $0.anyServerMessage() }
                .filter { if case .places = $0 { false } else { true } }
            var builder = FrameBuilder()
            for message in messages { builder.append(message) }
            let rendered = messages.map { Rendering.message($0) }.joined(separator: " | ")
            lines.append(Hexadecimal.encode(builder.finish()) + "\t" + rendered)
        }
        let file = FileManager.default.temporaryDirectory.appending(path: "sluice-frames-\(UUID().uuidString)").path
        try (lines.joined(separator: "\n") + "\n").write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }

        guard let (status, output) = try python([Self.script, "--self-check", file]) else {
            print("skipped: python3 is not installed")
            return
        }
        try #require(status == 0, "\(output)")
        let printed = output.split(separator: "\n").map(String.init)
        try #require(printed.count == 8, "\(output)")
        #expect(printed[0] == "150 frames decoded")
        let frames = try printed[1...6].map { line in
            try Frame.decode(try #require(Hexadecimal.decode(line)), as: ClientMessage.self)
        }
        let chosen = ValueMap([
            (key: "from", value: .int(-3)), (key: "fruits", value: .list([.string("apple"), .string("fig")])),
            (key: "isNew", value: .bool(true)), (key: "region", value: .string("north")),
        ])
        #expect(
            frames == [
                [.hello(.init(features: .aggregates, agent: "stranger"))],
                [.open(.init(session: 1, path: "cars", options: .readOnly, schema: Schema()))],
                [.open(.init(session: 1, path: "cars", options: .readOnly, variables: chosen, schema: Schema()))],
                [.variables(session: 1, values: chosen)],
                [.subscribe(.init(session: 1, subscription: 2, query: "Car WHERE price < 9000"))],
                [.credit(session: 1, pages: 3)],
            ])
        let ids = [ObjectKey.string("JT2"), .int(-7)].map { Identity(className: "Car", key: $0).objectID.description }
        #expect(printed[7] == ids.joined(separator: " "))
    }

    /// Runs python3; nil if there is none. The output goes through a file, because a program that another test starts
    /// at the same moment would keep a pipe open.
    private func python(_ arguments: [String]) throws -> (status: Int32, output: String)? {
        let path = FileManager.default.temporaryDirectory.path + "/sluice-python-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let words = arguments.map { "'\($0)'" }.joined(separator: " ")
        let status = system("python3 \(words) > '\(path)' 2>&1 < /dev/null") >> 8 & 0xFF
        if status == 127 { return nil }
        return (status, try String(contentsOfFile: path, encoding: .utf8))
    }
}
