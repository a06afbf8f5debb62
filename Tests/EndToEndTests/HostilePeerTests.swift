import Foundation
import SluiceModel
import SluiceWire
import TestSupport
import Testing

/// Peers that send what no client would send. The server tells them why or cuts them off, and serves everybody else as
/// before.
@Suite(.serialized)
struct HostilePeerTests {
    /// How many kilobytes a server's memory may grow under attack.
    static let growthMax = 250_000

    /// Runs an attack against a server, which must then serve others and must not have grown.
    func attack(
        options: [String] = [], _ body: @escaping @Sendable (ServerProcess) throws -> Void
    ) async throws {
        try await withServer(options: options) { server in
            try await server.expectService()
            let before = try server.process.memory()
            try await blocking { try body(server) }
            try await server.expectService()
            let peak = try server.process.memory("VmHWM")
            #expect(peak - before < Self.growthMax, "grew from \(before) kB to \(peak) kB")
        }
    }

    // MARK: Before the upgrade

    @Test func bytesThatAreNoRequestAreAnsweredOrCutOff() async throws {
        try await attack { server in
            var generator = SeededGenerator(seed: 1)
            for length in [1, 7, 100, 4_096, 100_000] {
                for _ in 0..<5 {
                    let peer = try RawPeer(server.port)
                    peer.send(generator.bytes(length))
                    peer.endWriting()
                    let answer = peer.receiveToEnd()
                    #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4"), "\(answer)")
                }
            }
        }
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 100_000), "HTTP/1.1 431 "),
        (
            "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: y\r\n", count: 500) + "\r\n", "HTTP/1.1 431 "
        ),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n", "HTTP/1.1 4"),
        ("GET / HTTP/9.9\r\nHost: a\r\n\r\n", "HTTP/1.1 505 "),
        ("GET nowhere HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 400 "),
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 404 "),
        (RawPeer.upgradeRequest.replacingOccurrences(of: "sluice.1", with: "sluice.9"), "HTTP/1.1 400 "),
        (RawPeer.upgradeRequest.replacingOccurrences(of: "Version: 13", with: "Version: 8"), "HTTP/1.1 426 "),
        (RawPeer.upgradeRequest.replacingOccurrences(of: "dGhlIHNhbXBsZSBub25jZQ==", with: "no"), "HTTP/1.1 400 "),
        (
            RawPeer.upgradeRequest.replacingOccurrences(of: "\r\n\r\n", with: "\r\nOrigin: http://127.0.0.1\r\n\r\n"),
            "HTTP/1.1 403 "
        ),
        (String(RawPeer.upgradeRequest.dropLast(20)), ""),
    ])
    func requestsThatCannotBeAreRefusedWithTheirStatus(request: String, answer: String) async throws {
        try await attack { server in
            let peer = try RawPeer(server.port)
            peer.send(request)
            peer.endWriting()
            let got = peer.receiveToEnd()
            #expect(answer.isEmpty ? got.isEmpty : got.hasPrefix(answer), "\(got)")
        }
    }

    @Test func manyHalfRequestsLeaveRoomForOthers() async throws {
        try await withServer { server in
            let peers = try (0..<300).map { _ in
                let peer = try RawPeer(server.port)
                peer.send(String(RawPeer.upgradeRequest.prefix(60)))
                return peer
            }
            try await server.expectService()
            withExtendedLifetime(peers) {}
        }
    }

    // MARK: WebSocket

    @Test(arguments: [
        ("text", RawPeer.frame(1, Array("hello".utf8)), 1003 as UInt16),
        ("unmasked", RawPeer.frame(2, [0], isMasked: false), 1002),
        ("an unknown opcode", RawPeer.frame(3, []), 1002),
        ("reserved bits", RawPeer.frame(0x42, []), 1002),
        ("a continuation of nothing", RawPeer.frame(0, [1]), 1002),
        ("a ping in pieces", RawPeer.frame(9, [1], isFinal: false), 1002),
        ("a long ping", RawPeer.frame(9, [UInt8](repeating: 0, count: 200)), 1002),
        ("a length of 2^63", RawPeer.frame(2, [], claimedLength: 1 << 63), 1002),
        ("a length of 2^62", RawPeer.frame(2, [], claimedLength: 1 << 62), 1009),
        ("a length of 17 MiB", RawPeer.frame(2, [], claimedLength: 17 << 20), 1009),
        ("an empty frame", RawPeer.frame(2, []), 1008),
        ("no message of ours", RawPeer.frame(2, [0, 5, 1, 2, 3, 4, 5]), 1008),
        ("a close of one byte", RawPeer.frame(8, [3]), 1002),
    ])
    func framesThatCannotBeEndTheirConnectionWithTheCodeForIt(
        name: String, frame: [UInt8], code: UInt16
    ) async throws {
        try await attack { server in
            let peer = try RawPeer(server.port)
            try peer.upgrade()
            peer.send(frame)
            let (failures, closed) = try peer.receiveProblems()
            #expect(closed.code == code, "\(name): \(closed)")
            #expect(!closed.reason.isEmpty, "\(name)")
            if code == 1008 { #expect(failures.map(\.code) == [.protocolViolation], "\(name)") }
        }
    }

    @Test func manyFragmentsOfOneMessageAreCutOffAtTheLimit() async throws {
        try await attack { server in
            let peer = try RawPeer(server.port)
            try peer.upgrade()
            peer.send(RawPeer.frame(2, [0], isFinal: false))
            let piece = RawPeer.frame(0, [UInt8](repeating: 0, count: 1 << 19), isFinal: false)
            for _ in 0..<80 { peer.send(piece) }
            // Unread bytes from the peer may turn the end into a reset.
            let closed = try peer.receiveProblems().closed
            #expect(closed.code == 1009 || closed.code == nil, "\(closed)")
        }
    }

    @Test func garbageInFramesIsAProtocolViolation() async throws {
        try await attack { server in
            var generator = SeededGenerator(seed: 2)
            for _ in 0..<60 {
                let peer = try RawPeer(server.port)
                try peer.upgrade()
                let length = Int.random(in: 1...3_000, using: &generator)
                peer.send(.binary, [UInt8.random(in: 0...1, using: &generator)] + generator.bytes(length))
                let (failures, closed) = try peer.receiveProblems()
                #expect(failures.map(\.code) == [.protocolViolation] && closed.code == 1008, "\(closed)")
            }
        }
    }
}
