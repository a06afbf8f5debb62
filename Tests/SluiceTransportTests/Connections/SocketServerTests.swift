import TestSupport
import Testing

@testable import SluiceTransport

/// Behaviour of sockets that the transport in memory does not have.
@Suite(.serialized) struct SocketServerTests {
    private func listen(
        host: String = "127.0.0.1", port: UInt16 = 0, options: WebSocketServerOptions = .init(), group: EventLoopGroup,
        makeDelegate: @escaping @Sendable () -> Recorder = { Recorder.echo() }
    ) throws -> WebSocketServer {
        try WebSocketServer.listen(
            host: host, port: port, options: options, group: group,
            hooks: ServerHooks(accept: { _, _ in .accept(makeDelegate()) }))
    }

    @Test func loopbackOnlyRefusesEveryOtherAddress() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        defer { group.stop() }
        var options = WebSocketServerOptions()
        options.isLoopbackOnly = true
        for host in ["0.0.0.0", "*", "::"] {
            let error = #expect(throws: TransportError.self) { try listen(host: host, options: options, group: group) }
            #expect(error?.code == .invalidConfiguration)
        }
        for host in ["127.0.0.1", "localhost"] {
            await (try listen(host: host, options: options, group: group)).stop()
        }
    }

    @Test func manyConnectionsAllEcho() async throws {
        try await withNetwork(try TestNetwork(.sockets)) { network in
            let clients = try (0..<200).map { number in
                let client = Recorder()
                let connection = try network.connect(client)
                connection.send(SharedBuffer([UInt8(number), 1, 2, 3]))
                return (client, connection)
            }
            for (number, (client, _)) in clients.enumerated() {
                #expect(try await client.received(1) == [[UInt8(number), 1, 2, 3]])
            }
        }
    }

    @Test func oneBufferToManyConnectionsReachesAll() async throws {
        let senders = Observed<[any MessageConnection]>([])
        let makeDelegate: @Sendable () -> Recorder = {
            Recorder(didOpen: { connection in senders.update { $0.append(connection) } })
        }
        try await withNetwork(try TestNetwork(.sockets, makeDelegate: makeDelegate)) { network in
            let clients = try (0..<100).map { _ in
                let client = Recorder(keepsMessages: false)
                return (client, try network.connect(client))
            }
            let connections = try await senders.wait(for: "100 connections") { $0.count == 100 }
            for _ in 0..<20 {
                let message = SharedBuffer([UInt8](repeating: 7, count: 1_000))
                for connection in connections { connection.send(message) }
            }
            for (client, _) in clients {
                let state = try await client.state.wait(for: "20 messages") { $0.messageCount == 20 }
                #expect(state.byteCount == 20_000)
            }
        }
    }

    @Test func readerThatDoesNotReadCostsAQueueThatItsOwnerCanEnd() async throws {
        try await withNetwork(try TestNetwork(.sockets, makeDelegate: { Recorder() })) { network in
            let raw = try RawSocket(port: network.port, receiveBufferByteCount: 4_096)
            #expect(raw.upgrade().hasPrefix("HTTP/1.1 101 "))
            let server = try await network.firstAccepted()
            let connection = try #require(
                try await server.state.wait(for: "the opening") { $0.connection != nil }.connection)
            let message = SharedBuffer([UInt8](repeating: 5, count: 1 << 20))
            for _ in 0..<32 { connection.send(message) }
            #expect(connection.queuedBytes > 16 << 20)
            connection.abort()
            #expect(try await server.closed()?.code == .aborted)
            #expect(connection.queuedBytes == 0)
        }
    }

    @Test func resetEndsTheConnectionWithATransientError() async throws {
        try await withNetwork(try TestNetwork(.sockets)) { network in
            let raw = try RawSocket(port: network.port)
            _ = raw.upgrade()
            let server = try await network.firstAccepted()
            raw.reset()
            let error = try await server.closed()
            #expect(error?.code == .connectionLost)
            #expect(error?.outlook == .passing)
        }
    }

    @Test func halfClosedConnectionIsOver() async throws {
        try await withNetwork(try TestNetwork(.sockets)) { network in
            let raw = try RawSocket(port: network.port)
            _ = raw.upgrade()
            raw.endWriting()
            #expect(raw.receiveUntilEnd().isEmpty)
            #expect(try await network.firstAccepted().closed()?.code == .connectionLost)
        }
    }

    @Test func violationIsAnsweredWithACloseFrame() async throws {
        try await withNetwork(try TestNetwork(.sockets)) { network in
            let raw = try RawSocket(port: network.port)
            _ = raw.upgrade()
            raw.send(RawFrame.frame(.binary, [1, 2, 3], maskKey: nil))
            let events = try decode([raw.receiveUntilEnd()], side: .client)
            #expect(events == [.close(.protocolError, "a client must mask its frames")])
            raw.disconnect()
            #expect(try await network.firstAccepted().closed()?.code == .protocolViolation)
        }
    }

    @Test func textMessageIsRefusedWith1003() async throws {
        try await withNetwork(try TestNetwork(.sockets)) { network in
            let raw = try RawSocket(port: network.port)
            _ = raw.upgrade()
            raw.send(RawFrame.masked(.text, [0x41]))
            guard case .close(.unsupportedData, _) = try decode([raw.receiveUntilEnd()], side: .client).first else {
                Issue.record("not closed with 1003")
                return
            }
        }
    }

    @Test func pingsInsideAFragmentedMessageAreAnswered() async throws {
        try await withNetwork(try TestNetwork(.sockets)) { network in
            let raw = try RawSocket(port: network.port)
            _ = raw.upgrade()
            raw.send(RawFrame.masked(.binary, [1, 2], isFinal: false))
            raw.send(RawFrame.masked(.ping, [9, 9]))
            var received = raw.receive()
            #expect(try decode([received], side: .client) == [.pong([9, 9])])
            raw.send(RawFrame.masked(.continuation, [3]))
            received = raw.receive()
            #expect(try decode([received], side: .client) == [.message([1, 2, 3])])
            raw.send(RawFrame.masked(.close, [0x03, 0xE8]))
            received = raw.receiveUntilEnd()
            #expect(try decode([received], side: .client) == [.close(.normal, "")])
            #expect(try await network.firstAccepted().closed() == nil)
        }
    }

    @Test func upgradeAndFirstMessageInOnePacketAreBothTaken() async throws {
        try await withNetwork(try TestNetwork(.sockets)) { network in
            let raw = try RawSocket(port: network.port)
            raw.send(Array(RawSocket.upgradeRequest.utf8) + RawFrame.masked(.binary, [4, 2]))
            #expect(raw.receiveHead().contains("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
            #expect(try decode([raw.receive()], side: .client) == [.message([4, 2])])
        }
    }

    @Test func deadPeerIsGivenUpAfterAPingWithoutAnswer() async throws {
        var options = WebSocketOptions()
        options.pingInterval = .milliseconds(20)
        options.pongTimeout = .milliseconds(500)
        try await withNetwork(try TestNetwork(.sockets, options: options)) { network in
            let raw = try RawSocket(port: network.port)
            _ = raw.upgrade()
            let error = try await network.firstAccepted().closed()
            #expect(error?.code == .peerSilent)
            #expect(error?.outlook == .passing)
            #expect(try decode([raw.receiveUntilEnd()], side: .client) == [.ping([])])

            // A peer that answers pings and sends nothing else stays connected.
            let client = Recorder()
            let connection = try network.connect(client)
            try await client.opened()
            let raw2 = try RawSocket(port: network.port)
            _ = raw2.upgrade()
            #expect(!raw2.receiveUntilEnd().isEmpty)
            #expect(client.state.value.closes.isEmpty)
            connection.close()
            #expect(try await client.closed() == nil)
        }
    }

    @Test func clientThatSendsNoRequestIsDroppedInTime() async throws {
        var options = WebSocketOptions()
        options.openTimeout = .milliseconds(50)
        try await withNetwork(try TestNetwork(.sockets, options: options)) { network in
            let raw = try RawSocket(port: network.port)
            raw.send("GET / HT")
            #expect(raw.receiveUntilEnd().isEmpty)
            let refusals = try await network.refusals.wait(for: "the time limit") { !$0.isEmpty }
            #expect(refusals[0].code == .timedOut)
        }
    }

    @Test func serverThatNeverAnswersIsGivenUpInTime() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        defer { group.stop() }
        let silent = try Listener(
            try SocketAddress.resolve("127.0.0.1", port: 0, isListening: true)[0], isDualStack: false,
            loop: group.next(), didAccept: { _, _ in }, didFail: { _ in })
        var options = WebSocketClientOptions()
        options.connection.openTimeout = .milliseconds(50)
        let client = Recorder()
        _ = try WebSocketClient.connect(
            to: try Endpoint("ws://127.0.0.1:\(silent.address.port)"), options: options, loop: group.next(),
            delegate: client)
        let error = try await client.closed()
        #expect(error?.code == .timedOut)
        #expect(error?.message.contains("the WebSocket handshake was not done within 0.05 seconds") == true)
    }

    @Test func connectionOverTheLimitIsRefusedWith503() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        var options = WebSocketServerOptions()
        options.connectionCountMax = 1
        let server = try listen(options: options, group: group)
        let first = try RawSocket(port: server.port)
        #expect(first.upgrade().hasPrefix("HTTP/1.1 101 "))
        #expect(server.connectionCount == 1)
        let second = try RawSocket(port: server.port)
        #expect(second.upgrade().hasPrefix("HTTP/1.1 503 "))
        second.disconnect()
        first.disconnect()
        await server.stop()
        #expect(server.connectionCount == 0)
        group.stop()
    }

    @Test func addressInUseIsNamed() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let server = try listen(port: UnusedPort.next(), group: group)
        let error = #expect(throws: TransportError.self) { _ = try listen(port: server.port, group: group) }
        #expect(error?.code == .addressInUse)
        #expect(error?.message.contains("127.0.0.1:\(server.port)") == true)
        await server.stop()
        let again = try listen(port: server.port, group: group)
        await again.stop()
        group.stop()
    }

    @Test(arguments: [
        ("192.0.2.1", TransportError.Code.addressUnavailable), ("no-such-host.invalid", .nameResolutionFailed),
    ])
    func addressOfAnotherMachineIsAClearError(host: String, code: TransportError.Code) throws {
        let group = try EventLoopGroup(loopCount: 1)
        defer { group.stop() }
        let error = #expect(throws: TransportError.self) { _ = try listen(host: host, group: group) }
        #expect(error?.code == code)
        #expect(error?.message.contains(host) == true)
    }

    @Test(arguments: ["localhost", "*", "0.0.0.0"])
    func hostNamesListenWhereClientsConnect(host: String) async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let server = try listen(host: host, group: group)
        let client = Recorder()
        let connection = try WebSocketClient.connect(
            to: try Endpoint("ws://localhost:\(server.port)"), loop: group.next(), delegate: client)
        connection.send(SharedBuffer([6]))
        #expect(try await client.received(1) == [[6]])
        await server.stop()
        group.stop()
    }

    @Test func unknownInterfaceIsAClearError() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        defer { group.stop() }
        var options = WebSocketClientOptions()
        options.networkInterface = "nosuch0"
        let client = Recorder()
        _ = try WebSocketClient.connect(
            to: try Endpoint("ws://127.0.0.1:9"), options: options, loop: group.next(), delegate: client)
        let error = try await client.closed()
        #expect(error?.message == "there is no network interface \"nosuch0\"")
    }

    @Test func stopSendsWhatIsQueuedFirst() async throws {
        let senders = Observed<[any MessageConnection]>([])
        let makeDelegate: @Sendable () -> Recorder = {
            Recorder(didOpen: { connection in senders.update { $0.append(connection) } })
        }
        try await withNetwork(try TestNetwork(.sockets, makeDelegate: makeDelegate)) { network in
            let client = Recorder(keepsMessages: false)
            _ = try network.connect(client)
            let connection = try await senders.wait(for: "the opening") { !$0.isEmpty }[0]
            let message = SharedBuffer([UInt8](repeating: 5, count: 1 << 20))
            for _ in 0..<20 { connection.send(message) }
            await network.stopServer()
            #expect(try await client.closed()?.closeCode == .goingAway)
            #expect(client.state.value.messageCount == 20)
        }
    }

    @Test func stopAbortsWhoeverDoesNotReadWithinTheGracePeriod() async throws {
        try await withNetwork(try TestNetwork(.sockets, makeDelegate: { Recorder() })) { network in
            let raw = try RawSocket(port: network.port, receiveBufferByteCount: 4_096)
            _ = raw.upgrade()
            let server = try await network.firstAccepted()
            let connection = try #require(
                try await server.state.wait(for: "the opening") { $0.connection != nil }.connection)
            connection.send(SharedBuffer([UInt8](repeating: 5, count: 32 << 20)))
            await network.stopServer(grace: .milliseconds(50))
            #expect(try await server.closed()?.code == .aborted)
        }
    }

    @Test func loopThatStopsEndsItsConnections() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let clientLoop = try EventLoop()
        let server = try listen(group: group)
        let client = Recorder()
        _ = try WebSocketClient.connect(
            to: try Endpoint("ws://127.0.0.1:\(server.port)"), loop: clientLoop, delegate: client)
        try await client.opened()
        clientLoop.stop()
        #expect(try await client.closed()?.code == .aborted)
        await server.stop()
        group.stop()
    }
}
