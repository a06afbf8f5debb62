import SluiceModel
import TestSupport
import Testing

@testable import SluiceTransport

/// Behaviour of the transport in memory that sockets do not have.
@Suite struct LoopbackNetworkTests {
    private func make() throws -> (LoopbackNetwork, Recorder, Recorder, any MessageConnection) {
        let network = LoopbackNetwork(executor: nil)
        let server = Recorder()
        try network.listen("server", hooks: ServerHooks(accept: { _, _ in .accept(server) }))
        let client = Recorder()
        let connection = network.connect(to: try Endpoint("ws://server"), delegate: client)
        return (network, server, client, connection)
    }

    @Test func nothingHappensUntilItIsPumped() throws {
        let (network, server, client, connection) = try make()
        connection.send(SharedBuffer([1, 2]))
        #expect(client.state.value.openCount == 0)
        #expect(connection.queuedBytes == 2)
        #expect(network.pump() == 3)
        #expect(server.state.value.messages == [[1, 2]])
        #expect(connection.queuedBytes == 0)
        #expect(network.pump() == 0)
    }

    @Test func cutBreaksBothEndsAndRefusesNewOnesUntilRestored() throws {
        let (network, server, client, connection) = try make()
        network.pump()
        connection.send(SharedBuffer([1]))
        network.cut("server")
        network.pump()
        #expect(server.state.value.messages.isEmpty)
        #expect(server.state.value.closes.map { $0?.code } == [.connectionLost])
        #expect(client.state.value.closes.map { $0?.code } == [.connectionLost])
        let second = Recorder()
        _ = network.connect(to: try Endpoint("ws://server"), delegate: second)
        network.pump()
        #expect(second.state.value.closes.map { $0?.code } == [.unreachable])
        network.restore("server")
        let third = Recorder()
        _ = network.connect(to: try Endpoint("ws://server"), delegate: third)
        network.pump()
        #expect(third.state.value.openCount == 1)
    }

    @Test func stallHoldsBackAndLosesNothing() throws {
        let (network, server, _, connection) = try make()
        network.pump()
        network.stall("server")
        connection.send(SharedBuffer([1]))
        connection.send(SharedBuffer([2]))
        #expect(network.pump() == 0)
        #expect(connection.queuedBytes == 2)
        network.unstall("server")
        network.pump()
        #expect(server.state.value.messages == [[1], [2]])
    }

    /// The choices decide the order between connections; within a connection, messages keep their order.
    @Test(arguments: 0..<20 as Range<UInt64>)
    func sameChoicesGiveTheSameOrder(seed: UInt64) throws {
        func run() throws -> [[UInt8]] {
            let network = LoopbackNetwork(executor: nil)
            let server = Recorder()
            try network.listen("server", hooks: ServerHooks(accept: { _, _ in .accept(server) }))
            for client in 0..<4 {
                let connection = network.connect(to: try Endpoint("ws://server"), delegate: Recorder())
                for number in 0..<5 { connection.send(SharedBuffer([UInt8(client), UInt8(number)])) }
            }
            var generator = SeededGenerator(seed: seed)
            while network.deliverNext(choosing: { Int.random(in: 0..<$0, using: &generator) }) {}
            return server.state.value.messages
        }
        let order = try run()
        #expect(try run() == order, "seed \(seed)")
        #expect(order.count == 20)
        for client in 0..<4 {
            #expect(order.filter { $0[0] == UInt8(client) }.map { $0[1] } == [0, 1, 2, 3, 4], "seed \(seed)")
        }
    }

    @Test func secondListenerOfTheSameNameIsRefused() throws {
        let (network, _, _, _) = try make()
        let error = #expect(throws: TransportError.self) {
            try network.listen("server", hooks: ServerHooks(accept: { _, _ in .reject(status: 403, text: "") }))
        }
        #expect(error?.code == .addressInUse)
    }
}
