import Foundation
import SluiceExchange
import SluiceJSON
import SluiceModel
import SluiceWire
import TestSupport
import Testing

@testable import SluiceServer

/// Whatever a server may send becomes JSON, or nothing.
struct JSONFrameTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Fuzz/corpus/serverMessages").standardizedFileURL

    private static let queries = [
        "Car", "Car LIMIT(1) TOTAL", "Car AGGREGATE(@count)",
        "Car GROUP(dealer, doors) AGGREGATE(@sum.price, @max.doors)",
        "Car GROUP(vin) AGGREGATE(@count) SORT(@count DESC) LIMIT(2)", "Car WHERE vin == 'aggregate' TOTAL",
    ]

    /// A session that has a subscription of each number that frames may name.
    private func session() -> JSONSession {
        var session = JSONSession(database: "any") { Timestamp(microseconds: 0) }
        _ = session.receive(Array(#"{"type":"open"}"#.utf8))
        _ = session.noteOpening()
        session.schema = JSONServer.schema
        for (position, query) in Self.queries.enumerated() {
            for links in 0..<2 {
                var subscription = JSONSubscription(audience: .init(query, showsLinks: links == 1))
                subscription.noteCompletion()
                session.subscriptions[UInt64(2 * position + links)] = subscription
            }
        }
        return session
    }

    /// Tells a frame's messages, and expects JSON.
    private func tell(_ messages: [ServerMessage], _ session: inout JSONSession) throws {
        let told = session.translate(messages)
        let writer = JSONRowWriter(schema: session.schema, messages: told.messages)
        for piece in told.pieces {
            let text =
                switch piece {
                case .text(let text): text
                case .change(let change): writer.text(of: change)
                }
            let json = try JSONParser.parse(String(decoding: text, as: UTF8.self))
            #expect(json["type"]?.string != nil, "\(json.text)")
            if case .change(let change) = piece { #expect(json["ids"]?.array?.count == change.subscriptions.count) }
        }
    }

    /// A client that loses the connection between the two would take what it has for what it may read now.
    @Test func `the context is told behind the changes that bring the subscriptions there`() throws {
        var session = session()
        session.client = JSONClientName(
            ClientIdentity(
                databaseID: ObjectID(high: 1, low: 2), epoch: 1, clientID: 3, nonce: ObjectID(high: 0, low: 4)), nil)
        let context = ServerMessage.Context(
            session: JSONSession.number, context: ObjectID(high: 5, low: 6), fields: ObjectID(high: 7, low: 8))
        let complete = ServerMessage.Complete(
            session: JSONSession.number, subscription: 2, version: 9, acceptedAt: Timestamp(microseconds: 0),
            kind: .bootstrap)
        let told = session.translate([.context(context), .complete(complete)])
        try #require(told.pieces.count == 2)
        guard case .change = told.pieces[0], case .text(let text) = told.pieces[1] else {
            Issue.record("\(told.pieces)")
            return
        }
        let json = try JSONParser.parse(String(decoding: text, as: UTF8.self))
        #expect(json["type"] == .string("context"))
        #expect(json["client"]?.string == session.client?.text)
        #expect(session.translate([.context(context)]).pieces.isEmpty, "it is told once")
    }

    /// What the client had of a query before is not what it may read now.
    @Test func `nothing goes on from a version of another context`() throws {
        var session = session()
        func resume(_ id: Int, since version: Int) throws -> ClientMessage.Resume? {
            let text = #"{"type":"sub","id":\#(id),"q":"Car","since":\#(version)}"#
            guard case .handle(.subscribe(let subscribe), _)? = session.receive(Array(text.utf8)).first else {
                Issue.record("\(text) is refused")
                return nil
            }
            return subscribe.resume
        }
        func complete(_ version: UInt64) -> ServerMessage {
            .complete(
                .init(
                    session: JSONSession.number, subscription: 2, version: version,
                    acceptedAt: Timestamp(microseconds: 0), kind: .bootstrap))
        }
        _ = session.translate([complete(9)])
        #expect(try resume(20, since: 9)?.version == 9)
        #expect(try resume(21, since: 10) == nil, "the client cannot have had it")
        let context = ServerMessage.Context(
            session: JSONSession.number, context: ObjectID(high: 5, low: 6), fields: ObjectID(high: 7, low: 8))
        _ = session.translate([.context(context)])
        #expect(try resume(22, since: 9) == nil)
        _ = session.translate([complete(12)])
        #expect(try resume(23, since: 9) == nil)
        #expect(try resume(24, since: 12)?.version == 12)
    }

    @Test func everyFrameOfTheCorpusBecomesJSON() throws {
        for file in try FileManager.default.contentsOfDirectory(at: Self.folder, includingPropertiesForKeys: nil) {
            var session = session()
            guard let messages: [ServerMessage] = try? Frame.decode(Array(Data(contentsOf: file))) else { continue }
            // A report is JSON already, which that of the corpus is not.
            try tell(messages.filter { if case .report = $0 { false } else { true } }, &session)
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>) func figuresOfAnyFormBecomeJSON(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        func value(_ depth: Int) -> Value {
            switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &random) {
            case 0: .null
            case 1: .int(.random(in: -9...9, using: &random))
            case 2: .double(random.pick([0, 1.5, .nan, -.infinity]))
            case 3: .string(random.pick(["", "a", "\u{202E}\"\\"]))
            case 4: .link(random.pick([.int(1), .string("x")]))
            case 5: .date(Timestamp(microseconds: 5))
            default: .list((0..<Int.random(in: 0..<4, using: &random)).map { _ in value(depth - 1) })
            }
        }
        func values() -> [Value] { (0..<Int.random(in: 0..<4, using: &random)).map { _ in value(2) } }
        var session = session()
        for version in 1...60 as ClosedRange<UInt64> {
            let id = UInt64.random(in: 0..<12, using: &random)
            let header = CommitHeader(
                session: 1, version: version, acceptedAt: Timestamp(microseconds: 0), acknowledged: nil,
                isContinued: Int.random(in: 0..<6, using: &random) == 0)
            let message =
                Bool.random(using: &random)
                ? ServerMessage.complete(
                    .init(
                        session: 1, subscription: id, version: version, acceptedAt: Timestamp(microseconds: 0),
                        kind: .bootstrap, figures: values()))
                : .commit(
                    .init(
                        header,
                        figures: [.init(subscriptions: [id, (id + 2) % 12], values: values())]))
            try tell([message], &session)
        }
    }
}
