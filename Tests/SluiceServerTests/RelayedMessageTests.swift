import SluiceModel
import SluiceStorage
import SluiceTesting
import SluiceWire
import Testing

@testable import SluiceServer

/// Ephemeral messages that other servers of a cluster pass on.
struct RelayedMessageTests {
    private func frame(_ text: String, topic: String = "room") -> [UInt8] {
        let message = ServerMessage.Message(
            session: 0, topic: topic, userID: "ada", sentAt: Timestamp(microseconds: 5), payload: Array(text.utf8))
        return Frame.encode(ServerMessage.message(message))
    }

    @Test func `what waits is bounded by number and by size, and what fits keeps its order`() {
        var messages = RelayedMessages()
        #expect(messages.isEmpty && messages.take().isEmpty)
        messages.add((0..<10_000).map { [UInt8($0 & 255)] })
        messages.add([[1]])
        let taken = messages.take()
        #expect(taken == (0..<RelayedMessages.countMax).map { [UInt8($0 & 255)] } && messages.isEmpty)
        let large = [UInt8](repeating: 0, count: RelayedMessages.byteCountMax / 2)
        messages.add([[1], large, large, [2]])
        #expect(messages.take().map(\.count) == [1, large.count, 1])
    }

    @Test func `listeners get what others pass on, each message of a cluster leaves once, and garbage is nothing`()
        throws
    {
        let node = try Bench(journal: MemoryJournal(databaseID: ObjectID(high: 7, low: 7)), seed: 1)
        let (listener, sender) = (try node.open(), try node.open())
        let listen = ClientMessage.Listen(session: listener.id.session, request: 1, topics: ["room"])
        _ = try node.handle([.messages(listener.id, [.listen(listen)])])
        let answers = try node.handle([
            .relayed([[0xFF, 0, 1], frame("a"), [], frame("b", topic: "hall"), frame("c")])
        ])
        let heard = answers.compactMap { if case .message(let message) = $0 { message } else { nil } }
        #expect(heard.map(\.payload) == [Array("a".utf8), Array("c".utf8)])
        #expect(heard.allSatisfy { $0.session == listener.id.session && $0.userID == "ada" })
        // What came from elsewhere goes nowhere else.
        #expect(node.engine.takeMessages().isEmpty)
        let said = ClientMessage.Message(session: sender.id.session, request: 2, topic: "room", payload: [7])
        _ = try node.handle([.messages(sender.id, [.message(said)])])
        let left = try node.engine.takeMessages().flatMap { try Frame.decode($0, as: ServerMessage.self) }
        #expect(left.count == 1 && node.engine.takeMessages().isEmpty)
        guard case .message(let passed)? = left.first else { throw CancellationError() }
        #expect(passed.session == 0 && passed.topic == "room" && passed.payload == [7])
    }

    @Test func `a server alone keeps no messages for others`() throws {
        let alone = try Bench()
        let sender = try alone.open()
        let said = ClientMessage.Message(session: sender.id.session, request: 2, topic: "room", payload: [7])
        _ = try alone.handle([.messages(sender.id, [.message(said)])])
        #expect(alone.engine.takeMessages().isEmpty)
    }
}
