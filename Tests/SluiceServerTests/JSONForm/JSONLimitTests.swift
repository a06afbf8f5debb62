import SluiceExchange
import SluiceJSON
import SluiceModel
import SluiceTransport
import SluiceWire
import Synchronization
import TestSupport
import Testing

@testable import SluiceServer

/// The limits of PROTOCOL.md, section 14.5: what reaches one is taken, and what exceeds it refused; the session goes on
/// wherever it can.
@Suite(.ownThread) struct JSONLimitTests {
    /// A message that spaces make so long.
    private static func padded(_ text: String, to byteCount: Int) -> String {
        text + String(repeating: " ", count: byteCount - text.utf8.count)
    }

    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    // MARK: Messages

    @Test func `a message has at most 16 MiB`() async throws {
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network)
            client.send(Self.padded(#"{"type":"unsub","id":1}"#, to: 16 << 20))
            #expect(await client.next()?["message"] == .string("there was no subscription 1"))
            client.send(Self.padded(#"{"type":"unsub","id":1}"#, to: 16 << 20 + 1))
            #expect(await client.end()?.closeCode == .messageTooBig)
        }
    }

    @Test func `the first message has at most 2 MiB`() async throws {
        try await JSONServer.run { network, _ in
            let client = try JSONClient(network)
            client.send(Self.padded(#"{"type":"open"}"#, to: 2 << 20 + 1))
            #expect(await client.next()?["message"] == .string("open has at most 2097152 bytes"))
            client.send(Self.padded(#"{"type":"open"}"#, to: 2 << 20))
            #expect(await client.next()?["type"] == .string("opened"))
        }
    }

    @Test func `JSON nests at most 100 levels deep`() async throws {
        func write(_ depth: Int) -> String {
            // The message is a level, and the operations are another.
            let arrays = String(repeating: "[", count: depth - 1) + String(repeating: "]", count: depth - 1)
            return #"{"type":"write","seq":1,"ops":\#(arrays)}"#
        }
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network)
            client.send(write(101))
            let refused = try #require(await client.next("rejected")?["message"]?.string)
            #expect(refused.contains("values are nested deeper than 100 levels"))
        }
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network)
            client.send(write(100))
            let refused = try #require(await client.next("rejected")?["message"]?.string)
            #expect(refused.hasPrefix("operation 1: "), "what it says is wrong, and it can be read: \(refused)")
        }
    }

    // MARK: Before opened

    private func opening() -> JSONSession {
        var session = JSONSession(database: "any") { Timestamp(microseconds: 0) }
        _ = session.receive(Self.bytes(#"{"type":"open"}"#))
        return session
    }

    @Test func `at most 1000 messages wait until the session is open`() {
        var session = opening()
        let text = Self.bytes(#"{"type":"unsub","id":1}"#)
        for _ in 0..<1_000 { #expect(session.receive(text).isEmpty) }
        #expect(session.receive(text).count == 1, "it is refused at once")
        #expect(session.held.count == 1_000)
    }

    @Test func `at most 1 MiB of messages waits until the session is open`() {
        var session = opening()
        let text = #"{"type":"unsub","id":1}"#
        #expect(session.receive(Self.bytes(Self.padded(text, to: 1 << 20))).isEmpty)
        #expect(session.receive(Self.bytes(text)).count == 1)
        session = opening()
        #expect(session.receive(Self.bytes(Self.padded(text, to: 1 << 20 + 1))).count == 1)
        #expect(session.held.isEmpty && session.heldByteCount == 0)
        #expect(session.receive(Self.bytes(text)).isEmpty, "there is room for a shorter one")
    }

    // MARK: Numbers

    @Test(arguments: ["9007199254740992", "-1", "0", "1.5", "1e3", "\"1\"", "null"])
    func `the number of a subscription is whole, above 0 and at most 2^53 - 1`(id: String) async throws {
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network)
            client.send("{\"type\":\"sub\",\"id\":\(id),\"q\":\"Car\"}")
            let error = try #require(await client.next("error"))
            #expect(error["code"] == .string("protocolViolation") && error["id"] == nil)
            client.send(#"{"type":"sub","id":9007199254740991,"q":"Car"}"#)
            #expect(await client.change()?["ids"] == .array([.integer(9_007_199_254_740_991)]))
        }
    }

    @Test func `the number of a write is whole, above 0 and at most 2^53 - 1`() async throws {
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network)
            for sequence in ["0", "-1", "9007199254740992", "1.5", "\"1\""] {
                client.send("{\"type\":\"write\",\"seq\":\(sequence),\"ops\":[]}")
                #expect(await client.next()?["type"] == .string("error"), "\(sequence)")
            }
            client.send("{\"type\":\"write\",\"seq\":9007199254740991,\"ops\":\(JSONServer.cars)}")
            #expect(await client.next("ack")?["seq"] == .integer(9_007_199_254_740_991))
        }
    }

    // MARK: Amounts

    @Test func `a session has at most 10000 subscriptions, and one that ends makes room for another`() async throws {
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network)
            for id in 1...10_001 { client.send("{\"type\":\"sub\",\"id\":\(id),\"q\":\"Car\"}") }
            let refused = try #require(await client.next("error"))
            #expect(refused["id"] == .integer(10_001) && refused["code"] == .string("limitExceeded"))
            client.send(#"{"type":"unsub","id":7}"#)
            client.send(#"{"type":"sub","id":10002,"q":"Dealer"}"#)
            while let message = await client.next(), message["ids"] != .array([.integer(10_002)]) {
                #expect(message["type"] != .string("error"), "\(message.text)")
            }
            client.send(#"{"type":"sub","id":10003,"q":"Dealer"}"#)
            #expect(await client.next("error")?["id"] == .integer(10_003))
        }
    }

    @Test func `a transaction has at most 100000 operations`() async throws {
        func operations(_ count: Int) -> String {
            "[" + String(repeating: "{},", count: count - 1) + "{}]"
        }
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network)
            client.write(1, operations(100_001))
            #expect(
                await client.next("rejected")?["message"]
                    == .string("the transaction has 100001 operations; at most 100000 are taken"))
            client.write(2, operations(100_000))
            let message = try #require(await client.next("rejected")?["message"]?.string)
            #expect(message.hasPrefix("operation 1: "))
        }
    }

    @Test func `an object has at most 12582912 bytes and is rejected by the number of its write`() async throws {
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network)
            let tag = String(repeating: "x", count: 12_582_912)
            client.write(1, #"[{"op":"insert","class":"Car","key":"a","set":{"tags":["\#(tag)"]}}]"#)
            let rejected = try #require(await client.next("rejected"))
            #expect(rejected["seq"] == .integer(1) && rejected["code"] == .string("limitExceeded"), "\(rejected)")
            client.write(2, JSONServer.cars)
            _ = await client.next("ack")
            #expect(await client.next("ack")?["seq"] == .integer(2))
        }
    }

    // MARK: Pages

    @Test func `while more than 1 MiB waits for a client no more pages come than are under way`() throws {
        let connection = FullConnection()
        let credits = Mutex<[UInt64]>([])
        let features: Features = [.aggregates, .light]
        var machine = ConnectionProtocol(limits: ServerLimits(), offered: features, login: DevelopmentLogin())
        let now = Timestamp(microseconds: 0)
        _ = machine.receive([.hello(.init(features: features, agent: "test"))], byteCount: 0, now: now)
        let peer = PeerConnection(
            connection, LoginPeer(address: "192.0.2.1"), machine,
            inJSON: JSONSession(database: "any", now: { now }),
            slot: try #require(QuotaLedger(Quotas()).connect(from: "192.0.2.1")), log: nil
        ) { action, _ in
            guard case .deliver(_, _, _, let messages, _) = action else { return }
            for case .credit(_, let pages) in messages { credits.withLock { $0.append(pages) } }
        }
        func send(_ message: ServerMessage) { peer.transmit(OutgoingFrame(Frame.encode(message)), now: now) }
        func sendPage() {
            send(.page(.init(session: 1, subscriptions: [1], version: 1, progress: 0.5, content: ViewBlock())))
        }
        peer.receive(text: Self.bytes(#"{"type":"open"}"#), now: now)
        let identity = ClientIdentity(
            databaseID: ObjectID(high: 1, low: 2), epoch: 1, clientID: 3, nonce: ObjectID(high: 0, low: 4))
        send(.opened(.init(session: 1, identity: identity, outcome: .created, version: 1, schema: JSONServer.schema)))
        peer.receive(text: Self.bytes(#"{"type":"sub","id":1,"q":"Car"}"#), now: now)
        sendPage()
        #expect(credits.withLock { $0 } == [1])
        connection.queuedBytes = 1 << 20 + 1
        for _ in 0..<3 { sendPage() }
        peer.didDrain(now: now)
        #expect(credits.withLock { $0 } == [1])
        connection.queuedBytes = 1 << 20
        peer.didDrain(now: now)
        #expect(credits.withLock { $0 } == [1, 3])
        peer.disconnected(because: "the test ends it")
    }
}
