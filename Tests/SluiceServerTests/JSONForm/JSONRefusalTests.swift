import SluiceJSON
import SluiceModel
import SluiceTransport
import SluiceWire
import Testing

@testable import SluiceServer

/// Messages of the JSON form that are refused, and clients that send nothing else.
struct JSONRefusalTests {
    @Test func `a refused message names the subscription or the question that it is about`() async throws {
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network)
            client.send(#"{"type":"sub","id":7,"q":"Car","limit":3}"#)
            #expect(await client.next("error")?["id"] == .integer(7))
            client.send(#"{"type":"sub","id":8,"q":"Car","args":[{}]}"#)
            #expect(await client.next("error")?["id"] == .integer(8))
            client.send(#"{"type":"ask","id":4,"report":"weather"}"#)
            #expect(await client.next("error")?["ask"] == .integer(4))
            client.send(#"{"type":"ask","id":5,"report":"explain","argument":"\ud83d"}"#)
            #expect(await client.next("error")?["ask"] == .integer(5))
            client.send(#"{"type":"sub","id":9,"q":"Car"}"#)
            #expect(await client.change()?["ids"] == .array([.integer(9)]))
            client.send(#"{"type":"sub","id":9,"q":"Car"}"#)
            let again = try #require(await client.next("error"))
            #expect(again["id"] == nil, "the subscription with this number goes on")
        }
    }

    @Test(arguments: [
        #"{"type":"write","seq":1,"ops":[{"op":"update","class":"Car","key":"a","set":{"tags":["\ud83d"]}}]}"#,
        #"{"type":"write","seq":1,"ops":[{"op":"update","class":"Car","key":"a","set":{"price":NaN}}]}"#,
        #"{"type":"write","seq":1,"ops":\#(String(repeating: "[", count: 120))\#(String(repeating: "]", count: 120))}"#,
        #"{"type":"write","seq":1,"ops":{}}"#,
        #"{"type":"write","seq":1,"ops":[],"at":3}"#,
    ])
    func `a write that cannot be read is rejected by its number and those behind it count`(text: String) async throws {
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network)
            client.send(text)
            let rejected = try #require(await client.next("rejected"))
            #expect(rejected["seq"] == .integer(1))
            #expect(rejected["message"]?.string?.isEmpty == false)
            #expect(await client.next("ack")?["seq"] == .integer(1))
            client.write(2, JSONServer.cars)
            #expect(await client.next()?["seq"] == .integer(2))
            client.send(#"{"type":"sub","id":1,"q":"Car"}"#)
            #expect(await client.change()?.put.count == 3)
        }
    }

    @Test func `a write of a read-only session is rejected and the session goes on`() async throws {
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network, ",\"readonly\":true")
            client.write(1, JSONServer.cars)
            let rejected = try #require(await client.next("rejected"))
            #expect(rejected["code"] == .string("permissionDenied"))
            #expect(rejected["message"] == .string("a read-only session takes no writes"))
            #expect(await client.next("ack")?["seq"] == .integer(1))
            client.send(#"{"type":"sub","id":1,"q":"Car"}"#)
            #expect(await client.change()?.put.isEmpty == true)
        }
    }

    @Test func `a client that sends wrong messages and reads no answers is read no more until they have left`() throws {
        let connection = FullConnection()
        let ledger = QuotaLedger(Quotas())
        let peer = PeerConnection(
            connection, LoginPeer(address: "192.0.2.1"),
            ConnectionProtocol(limits: ServerLimits(), login: DevelopmentLogin()),
            inJSON: JSONSession(database: "any", now: { Timestamp(microseconds: 0) }),
            slot: try #require(ledger.connect(from: "192.0.2.1")), log: nil
        ) { _, _ in }
        let now = Timestamp(microseconds: 0)
        var count = 0
        while connection.pauses.isEmpty, count < 1_000_000 {
            peer.receive(text: Array("{}".utf8), now: now)
            count += 1
        }
        #expect(connection.pauses == .answers)
        #expect((1 << 20..<2 << 20).contains(connection.queuedBytes))
        peer.didDrain(now: now)
        #expect(connection.pauses == .answers, "as much waits as before")
        connection.queuedBytes = 0
        peer.didDrain(now: now)
        #expect(connection.pauses.isEmpty)
        peer.disconnected(because: "the test ends it")
    }
}
