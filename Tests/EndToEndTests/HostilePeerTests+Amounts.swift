import Sluice
import SluiceModel
import SluiceWire
import TestSupport
import Testing

/// Peers that exceed a limit, and a reader that reads nothing.
extension HostilePeerTests {
    @Test func moreSubscriptionsThanAllowedAreRefusedOneByOne() async throws {
        try await attack { server in
            let peer = try RawPeer(server.port)
            try peer.open(schema: Fixture.schema())
            let limit: UInt64 = 10_000
            for start in stride(from: 1, through: limit + 20, by: 500) {
                var frame = FrameBuilder()
                for number in start..<min(start + 500, limit + 21) {
                    frame.append(
                        ClientMessage.subscribe(
                            .init(session: 1, subscription: number, query: "Plane WHERE seats > \(number % 50)")))
                }
                frame.append(ClientMessage.credit(session: 1, pages: 8))
                peer.send(.binary, frame.finish())
            }
            for _ in 0..<20 {
                let refused = try peer.receive {
                    if case .subscriptionError(let error) = $0 { error } else { nil }
                }
                #expect(refused.code == .limitExceeded && refused.subscription > limit)
            }
            #expect(try peer.settle() == nil)
            // A subscription that ends makes room for another.
            peer.send(
                .unsubscribe(session: 1, subscription: 1),
                .subscribe(.init(session: 1, subscription: limit + 99, query: "Boat")))
            let refused = try peer.receive { if case .subscriptionError(let error) = $0 { error } else { nil } }
            #expect(refused.code == .unknownName)
        }
    }

    @Test func moreSessionsThanAllowedAreRefused() async throws {
        try await attack { server in
            let peer = try RawPeer(server.port)
            try peer.open(schema: Fixture.schema())
            for number in 2...70 {
                peer.send(
                    ClientMessage.open(
                        .init(session: UInt64(number), path: "d\(number)", options: .readOnly, schema: Schema())))
            }
            let failure = try peer.receive { if case .error(let failure) = $0 { failure } else { nil } }
            #expect(failure.code == .limitExceeded && failure.session == 65 && failure.action == .stop)
            #expect(try peer.settle() != nil)
        }
    }

    @Test func aReaderThatNeverReadsIsCutOffWhileOthersWork() async throws {
        try await withServer(options: ["--log-level=warning"]) { server in
            let peer = try await blocking { [port = server.port] in
                let peer = try RawPeer(port, receiveBufferSize: 4_096)
                try peer.open("slow", schema: Fixture.schema())
                peer.send(ClientMessage.subscribe(.init(session: 1, subscription: 1, query: "Entry")))
                return Sole(peer)
            }
            let before = try server.process.memory()
            try await Fixture.withStore(server.url("slow")) { store in
                var generator = SeededGenerator(seed: 3)
                let filling = generator.text(1 << 20)
                for number in 0..<90 {
                    let entry = try Record(
                        Fixture.entry.get(),
                        ["number": .int(Int64(number)), "payload": .string(filling)])
                    try await store.write { try $0.insert(entry) }
                    try await store.uploaded(timeout: waitMax)
                    if number % 30 == 0 { try await server.expectService() }
                }
            }
            try await server.process.line(.diagnostics, with: "too slow")
            let peak = try server.process.memory("VmHWM")
            #expect(peak - before < Self.growthMax, "grew from \(before) kB to \(peak) kB")
            try await server.expectService("slow")
            withExtendedLifetime(peer) {}
        }
    }

    /// Passes a peer from one owner to another.
    private struct Sole: @unchecked Sendable {
        // Sound because one place makes the peer and the other only keeps it alive.
        let peer: RawPeer

        init(_ peer: RawPeer) { self.peer = peer }
    }
}
