import SluiceModel
import SluiceTransport
import SluiceWire
import TestSupport
import Testing

@testable import SluiceServer

/// What connections are told together is what each would be told alone.
struct JSONCommonCommitTests {
    private static let time = Timestamp(microseconds: 0)
    private static let queries = ["Car", "Car TOTAL", "Car GROUP(doors) AGGREGATE(@count)"]

    /// A session of one of four clients, with some of the subscriptions, of which most are complete.
    private func session(_ random: inout SeededGenerator) -> JSONSession {
        var session = JSONSession(database: "any") { Self.time }
        _ = session.receive(Array(#"{"type":"open"}"#.utf8))
        _ = session.noteOpening()
        session.schema = JSONServer.schema
        session.client = JSONClientName(
            ClientIdentity(
                databaseID: ObjectID(high: 1, low: 2), epoch: 1, clientID: .random(in: 0...3, using: &random),
                nonce: ObjectID(high: 0, low: 4)), nil)
        for (position, query) in Self.queries.enumerated() where Int.random(in: 0..<8, using: &random) > 0 {
            var subscription = JSONSubscription(
                audience: .init(query, showsLinks: Int.random(in: 0..<4, using: &random) == 0))
            if Int.random(in: 0..<6, using: &random) > 0 { subscription.noteCompletion() }
            session.subscriptions[UInt64(position + 1)] = subscription
        }
        return session
    }

    private func frame(_ version: UInt64, _ random: inout SeededGenerator) -> [UInt8] {
        func ids() -> [UInt64] { (1...3).filter { _ in Bool.random(using: &random) } }
        var builder = FrameBuilder()
        for number in 0...UInt64.random(in: 0...1, using: &random) {
            let header = CommitHeader(
                session: 1, version: version + number, acceptedAt: Self.time,
                acknowledged: Int.random(in: 0..<6, using: &random) == 0 ? 1 : nil,
                isContinued: Int.random(in: 0..<8, using: &random) == 0)
            let blocks = (0..<Int.random(in: 0..<3, using: &random)).map { _ in
                ServerMessage.SubscriptionBlock(
                    subscriptions: ids(),
                    content: ViewBlock(
                        authors: [
                            CommitAuthor(
                                version: version, userID: nil, clientID: .random(in: 0...5, using: &random),
                                kinds: [.set], acceptedAt: Self.time)
                        ],
                        departures: [
                            .init(
                                ObjectRef(0, .string(random.pick(["a", "b"]))), role: random.pick([.member, .linked]),
                                reason: .window)
                        ]))
            }
            let figures = (0..<Int.random(in: 0..<2, using: &random)).map { _ in
                ServerMessage.SubscriptionFigures(subscriptions: ids(), values: [.int(7)])
            }
            builder.append(ServerMessage.commit(.init(header, blocks: blocks, figures: figures)))
            if Int.random(in: 0..<6, using: &random) == 0 {
                builder.append(
                    ServerMessage.complete(
                        .init(session: 1, subscription: 1, version: version, acceptedAt: Self.time, kind: .bootstrap)))
            }
        }
        return builder.finish()
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `connections that are told together are told what each is told alone`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var together = (0..<12).map { _ in session(&random) }
        var alone = together
        var commonCount = 0
        for version in stride(from: 2 as UInt64, to: 80, by: 2) {
            let bytes = frame(version, &random)
            let shared = OutgoingFrame(bytes)
            for index in together.indices {
                let own = OutgoingFrame(bytes)
                let expected = own.texts(of: alone[index].translate(own.messages), alone[index])
                var texts = shared.commonTexts(&together[index])
                if texts == nil {
                    texts = shared.texts(of: together[index].translate(shared.messages), together[index])
                } else {
                    commonCount += 1
                }
                #expect(texts?.map(\.text) == expected.map(\.text), "seed \(seed), version \(version), \(index)")
                #expect(together[index].versions == alone[index].versions, "seed \(seed), version \(version), \(index)")
            }
        }
        #expect(commonCount > 20)
    }
}

extension SharedBuffer {
    fileprivate var text: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
