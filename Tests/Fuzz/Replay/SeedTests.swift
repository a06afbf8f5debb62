import Foundation
import FuzzTargets
import SluiceWire
import Testing

/// The fuzzer finds the way into a message only from an input that is one.
struct SeedTests {
    @Test func everyMessageOfClientsHasASeedThatDecodes() throws { try check(.clientMessages, ClientMessage.self) }

    @Test func everyMessageOfServersHasASeedThatDecodes() throws { try check(.serverMessages, ServerMessage.self) }

    private func check<Message: WireMessage>(_ target: FuzzTarget, _ message: Message.Type) throws {
        let folder = ReplayTests.corpus.appending(path: target.rawValue)
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        let types = try files.flatMap { file in
            let bytes = try Array(Data(contentsOf: file))
            return ((try? Frame.decode(bytes, as: message)) ?? []).map(\.type)
        }
        for code in 0...UInt8.max where isKnown(code, message) {
            #expect(types.contains(code), "\(folder.path()) has no message of the type \(code)")
        }
    }

    /// Whether a message is read: one of an unknown type is an error, or skipped.
    private func isKnown<Message: WireMessage>(_ code: UInt8, _ message: Message.Type) -> Bool {
        do { return try !Frame.decode([0, 2, code, 1], as: message).isEmpty } catch {
            return error.code != .unknownMessage
        }
    }
}
