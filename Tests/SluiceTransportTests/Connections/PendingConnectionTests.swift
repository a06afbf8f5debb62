import Testing

@testable import SluiceTransport

/// Connections over sockets whose peers have not logged in.
@Suite(.serialized) struct PendingConnectionTests {
    /// What a server has sent, without pings: the first one of a connection comes at a random time.
    private func decodeUnpinged(_ pieces: [[UInt8]]) throws -> [Decoded] {
        try decode(pieces, side: .client).filter { $0 != .ping([]) }
    }

    private func withServer(
        _ configure: (inout WebSocketServerOptions) -> Void, admits: Bool = false,
        _ body: (UInt16) async throws -> Void
    ) async throws {
        let group = try EventLoopGroup(loopCount: 1)
        var options = WebSocketServerOptions()
        options.awaitsAdmission = true
        configure(&options)
        let server = try WebSocketServer.listen(
            host: "127.0.0.1", port: 0, options: options, group: group,
            hooks: ServerHooks(accept: { _, _ in
                .accept(
                    Recorder(react: { connection, bytes in
                        if admits { connection.admit() }
                        connection.send(SharedBuffer(bytes))
                    }))
            }))
        let result: Result<Void, any Error>
        do { result = .success(try await body(server.port)) } catch { result = .failure(error) }
        await server.stop(grace: .zero)
        group.stop()
        try result.get()
    }

    @Test func moreSilentPeersThanTheBudgetGetA503WithTheReason() async throws {
        try await withServer({ options in
            options.pendingConnectionCountMaxPerAddress = 2
            options.waitingConnectionCountMax = 0
            options.patience = .seconds(3_600)
        }) { port in
            let silent = try (0..<2).map { _ in try RawSocket(port: port) }
            let third = try RawSocket(port: port)
            third.send(RawSocket.upgradeRequest)
            let answer = String(decoding: third.receiveUntilEnd(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 503 "), "\(answer)")
            #expect(answer.contains("too many connections whose peers have not logged in: 2 from one address"))
            withExtendedLifetime(silent) {}
        }
    }

    @Test func aSilentPeerIsToldThatItGivesItsPlaceUp() async throws {
        try await withServer({ options in
            options.pendingConnectionCountMaxPerAddress = 1
            options.patience = .zero
        }) { port in
            let silent = try RawSocket(port: port)
            let second = try RawSocket(port: port)
            #expect(second.upgrade().hasPrefix("HTTP/1.1 101 "))
            #expect(String(decoding: silent.receiveUntilEnd(), as: UTF8.self).hasPrefix("HTTP/1.1 503 "))
            // The upgrade alone is not a login.
            let third = try RawSocket(port: port)
            #expect(third.upgrade().hasPrefix("HTTP/1.1 101 "))
            guard case .close(.tryAgainLater, let reason) = try decode([second.receiveUntilEnd()], side: .client).first
            else {
                Issue.record("not closed with 1013")
                return
            }
            #expect(reason.hasPrefix("too many connections whose peers have not logged in"))
        }
    }

    @Test func aPeerThatUpgradesAndSaysNothingIsClosedInTime() async throws {
        try await withServer({ $0.connection.openTimeout = .milliseconds(50) }) { port in
            let silent = try RawSocket(port: port)
            #expect(silent.upgrade().hasPrefix("HTTP/1.1 101 "))
            let events = try decode([silent.receiveUntilEnd()], side: .client)
            #expect(events == [.close(.tryAgainLater, "the peer has not logged in in time")])
        }
    }

    @Test func admittedPeersTakeNoPlace() async throws {
        try await withServer(
            { options in
                options.pendingConnectionCountMaxPerAddress = 1
                options.waitingConnectionCountMax = 0
            }, admits: true
        ) { port in
            var peers: [RawSocket] = []
            for _ in 0..<20 {
                let peer = try RawSocket(port: port)
                #expect(peer.upgrade().hasPrefix("HTTP/1.1 101 "))
                peer.send(RawFrame.masked(.binary, [1]))
                #expect(try decodeUnpinged([peer.receive()]) == [.message([1])])
                peers.append(peer)
            }
        }
    }

    @Test func aBurstBeyondTheBudgetIsServedInTurn() async throws {
        try await withServer(
            { options in
                options.pendingConnectionCountMaxPerAddress = 4
                options.patience = .seconds(3_600)
                options.connection.openTimeout = .seconds(3_600)
            }, admits: true
        ) { port in
            let peers = try (0..<200).map { _ in try RawSocket(port: port) }
            for peer in peers {
                peer.send(Array(RawSocket.upgradeRequest.utf8) + RawFrame.masked(.binary, [7]))
            }
            for peer in peers {
                #expect(peer.receiveHead().hasPrefix("HTTP/1.1 101 "))
                // The frame may come in pieces.
                var pieces = [peer.receive()]
                while pieces.last?.isEmpty == false, try decodeUnpinged(pieces).isEmpty {
                    pieces.append(peer.receive())
                }
                #expect(try decodeUnpinged(pieces) == [.message([7])])
            }
        }
    }
}
