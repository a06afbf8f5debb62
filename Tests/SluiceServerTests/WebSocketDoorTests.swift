import SluiceModel
import SluiceServer
import SluiceTransport
import SluiceWire
import Testing

struct WebSocketDoorTests {
    private func start(_ network: LoopbackNetwork) throws -> SyncServer {
        var configuration = ServerConfiguration(host: "server", isDevelopment: true)
        configuration.loopback = network
        let server = try SyncServer(configuration)
        try server.start()
        return server
    }

    @Test func webPageIsRefusedWith403() async throws {
        let network = LoopbackNetwork()
        let server = try start(network)
        let page = RawClient()
        _ = network.connect(
            to: try Endpoint("ws://server/any"), headers: ["Origin": "https://example.org"], delegate: page)
        #expect(await page.end()?.httpStatus == 403)
        await server.stop()
    }

    @Test func peerThatBreaksTheProtocolIsToldAndClosedWith1008() async throws {
        let network = LoopbackNetwork()
        let server = try start(network)
        let peer = RawClient()
        let connection = network.connect(to: try Endpoint("ws://server/any"), delegate: peer)
        connection.send(.credit(session: 1, pages: 1))
        guard case .error(let failure) = await peer.next() else {
            Issue.record("no error came")
            return
        }
        #expect(failure.code == .protocolViolation)
        #expect(await peer.end()?.closeCode == .policyViolation)
        await server.stop()
        #expect(server.connectionCount == 0)
    }
}
