import Foundation
import SluiceExchange
import SluiceJSON
import SluiceModel
import SluiceServer
import SluiceTransport
import Testing

/// The example of PROTOCOL.md, section 14, said to a server.
struct JSONExampleTests {
    @Test func theConversationOfTheProtocolIsWhatAServerSays() async throws {
        let page = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../../PROTOCOL.md").standardizedFileURL, encoding: .utf8)
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex(of: "```json conversation"), "PROTOCOL.md has no conversation")
        let end = try #require(lines[start...].firstIndex(of: "```"))
        let network = LoopbackNetwork()
        var configuration = ServerConfiguration(host: "server", isDevelopment: true)
        configuration.loopback = network
        let server = try SyncServer(configuration)
        try server.start()
        try await server.access(to: "cars").declare(
            Schema([
                ClassSchema(
                    "Car", primaryKey: "vin",
                    properties: [
                        Property("vin", .scalar(.string)), Property("price", .scalar(.double)),
                        Property("doors", .scalar(.int)),
                    ])
            ]))
        let client = try JSONClient(network, "ws://server/cars")
        // A message goes on where a line is indented.
        var messages: [String] = []
        for line in lines[(start + 1)..<end] {
            if line.hasPrefix("  ") {
                messages[messages.count - 1] += line.dropFirst(2)
            } else {
                messages.append(String(line))
            }
        }
        for message in messages {
            let text = String(message.dropFirst(2))
            if message.hasPrefix("> ") {
                client.send(text)
            } else {
                let expected = try JSONParser.parse(text)
                let said = try #require(await client.next(), "the server said nothing more; expected \(text)")
                #expect(said.matches(expected), "the server said \(said.text), and not \(text)")
            }
        }
        client.close()
        await server.stop()
    }
}

extension JSONValue {
    /// Whether the value is another one, in which the text "…" stands for anything.
    fileprivate func matches(_ expected: JSONValue) -> Bool {
        switch (self, expected) {
        case (_, .string("…")): return true
        case (.object(let own), .object(let others)):
            guard own.count == others.count else { return false }
            return others.allSatisfy { other in self[other.name].map { $0.matches(other.value) } ?? false }
        case (.array(let own), .array(let others)):
            return own.count == others.count && zip(own, others).allSatisfy { $0.matches($1) }
        case (.number(let own), .number(let other)): return Double(own) == Double(other)
        case (.number(let own), .integer(let other)), (.integer(let other), .number(let own)):
            return Double(own) == Double(other)
        default: return self == expected
        }
    }
}
