import Foundation
import SluiceModel
import TestSupport
import Testing

@testable import SluiceTransport

/// The guarantees of a connection to its owner, over sockets and in memory alike.
@Suite struct BehaviourTests {
    @Test(arguments: Twin.allCases)
    func messagesOfManySizesComeBackInOrder(twin: Twin) async throws {
        try await withNetwork(try TestNetwork(twin)) { network in
            let client = Recorder()
            let connection = try network.connect(client)
            try await client.opened()
            var generator = SeededGenerator(seed: 11)
            let sizes = [0, 1, 2, 125, 126, 127, 1_000, 16_384, 65_535, 65_536, 65_550, 200_000, 1 << 20, 5, 0]
            let messages = sizes.map { generator.bytes($0) }
            for message in messages { connection.send(SharedBuffer(message)) }
            #expect(try await client.received(messages.count) == messages)
        }
    }

    /// Threads that send find the loop awake or asleep, and write by themselves or have it write.
    @Test(arguments: Twin.allCases)
    func messagesOfSeveralThreadsComeBackInTheOrderOfEach(twin: Twin) async throws {
        try await withNetwork(try TestNetwork(twin)) { network in
            let client = Recorder()
            let connection = try network.connect(client)
            try await client.opened()
            let (threadCount, messageCount) = (4, 2_000)
            let threads = (0..<threadCount).map { thread in
                Thread {
                    for number in 0..<messageCount {
                        connection.send(SharedBuffer([UInt8(thread), UInt8(number >> 8), UInt8(number & 0xFF)]))
                    }
                }
            }
            for thread in threads { thread.start() }
            let messages = try await client.received(threadCount * messageCount)
            for thread in 0..<threadCount {
                let numbers = messages.filter { $0[0] == thread }.map { Int($0[1]) << 8 | Int($0[2]) }
                #expect(numbers == Array(0..<messageCount))
            }
        }
    }

    @Test(arguments: Twin.allCases)
    func messagesSentBeforeTheOpeningArriveFirst(twin: Twin) async throws {
        try await withNetwork(try TestNetwork(twin)) { network in
            let client = Recorder()
            let connection = try network.connect(client)
            for number in 0..<100 { connection.send(SharedBuffer([UInt8(number)])) }
            #expect(try await client.received(100) == (0..<100).map { [UInt8($0)] })
            #expect(client.state.value.openCount == 1)
        }
    }

    @Test(arguments: Twin.allCases)
    func closingDeliversWhatWasSentAndEndsBothSidesWithoutError(twin: Twin) async throws {
        try await withNetwork(try TestNetwork(twin, makeDelegate: { Recorder() })) { network in
            let client = Recorder()
            let connection = try network.connect(client)
            try await client.opened()
            let payload = [UInt8](repeating: 3, count: 10_000)
            for _ in 0..<500 { connection.send(SharedBuffer(payload)) }
            connection.close()
            connection.send(SharedBuffer([1, 2, 3]))
            let server = try await network.firstAccepted()
            #expect(try await server.closed() == nil)
            #expect(try await client.closed() == nil)
            #expect(server.state.value.messageCount == 500)
            #expect(server.state.value.byteCount == 5_000_000)
            #expect(connection.queuedBytes == 0)
        }
    }

    @Test(arguments: Twin.allCases)
    func closeCodeAndReasonReachTheOtherSide(twin: Twin) async throws {
        let makeDelegate: @Sendable () -> Recorder = {
            Recorder(react: { connection, _ in connection.close(code: CloseCode(rawValue: 4001), reason: "enough") })
        }
        try await withNetwork(try TestNetwork(twin, makeDelegate: makeDelegate)) { network in
            let client = Recorder()
            let connection = try network.connect(client)
            connection.send(SharedBuffer([1]))
            connection.send(SharedBuffer([2]))
            let error = try await client.closed()
            #expect(error?.code == .closedByPeer)
            #expect(error?.closeCode?.rawValue == 4001)
            #expect(error?.message.hasSuffix("enough") == true)
            let server = try await network.firstAccepted()
            #expect(try await server.closed() == nil)
            #expect(server.state.value.messages == [[1]], "no message after close()")
        }
    }

    @Test(arguments: Twin.allCases)
    func abortingTellsBothSidesOnce(twin: Twin) async throws {
        try await withNetwork(try TestNetwork(twin)) { network in
            let client = Recorder()
            let connection = try network.connect(client)
            try await client.opened()
            let server = try await network.firstAccepted()
            try await server.opened()
            connection.abort()
            connection.abort()
            connection.close()
            #expect(try await client.closed()?.code == .aborted)
            let error = try await server.closed()
            #expect(error?.code == .connectionLost)
            #expect(error?.outlook == .passing)
            #expect(client.state.value.closes.count == 1)
            #expect(server.state.value.closes.count == 1)
            #expect(client.state.value.callsAfterClose == 0)
        }
    }

    @Test(arguments: Twin.allCases)
    func messageOverTheLimitIsRefusedWith1009(twin: Twin) async throws {
        var options = WebSocketOptions()
        options.messageByteCountMax = 100_000
        try await withNetwork(try TestNetwork(twin, options: options)) { network in
            let client = Recorder()
            let connection = try network.connect(client)
            connection.send(SharedBuffer([UInt8](repeating: 0, count: 100_000)))
            _ = try await client.received(1)
            connection.send(SharedBuffer([UInt8](repeating: 0, count: 100_001)))
            let error = try await client.closed()
            #expect(error?.closeCode == .messageTooBig)
            #expect(error?.outlook == .lasting)
            let server = try await network.firstAccepted()
            #expect(try await server.closed()?.code == .messageTooLarge)
            #expect(server.state.value.messageCount == 1)
        }
    }

    @Test(arguments: Twin.allCases)
    func rejectionCarriesStatusAndText(twin: Twin) async throws {
        let accept: @Sendable (HTTPRequest) -> UpgradeDecision = { request in
            .reject(status: 401, text: "no ticket for \(request.path), \(request.headers["x-ticket"] ?? "none")")
        }
        try await withNetwork(try TestNetwork(twin, accept: accept)) { network in
            let client = Recorder()
            _ = try network.connect(client, headers: ["X-Ticket": "stale"])
            let error = try await client.closed()
            #expect(error?.code == .upgradeRefused)
            #expect(error?.httpStatus == 401)
            #expect(error?.message.hasSuffix("401 Unauthorized: no ticket for /db, stale") == true)
            #expect(client.state.value.openCount == 0)
        }
    }

    @Test(arguments: Twin.allCases)
    func serverThatStopsClosesWith1001(twin: Twin) async throws {
        try await withNetwork(try TestNetwork(twin)) { network in
            let client = Recorder()
            _ = try network.connect(client)
            try await client.opened()
            await network.stopServer()
            let error = try await client.closed()
            #expect(error?.closeCode == .goingAway)
            #expect(error?.outlook == .passing)
            let late = Recorder()
            _ = try network.connect(late)
            let refusal = try await late.closed()
            #expect(refusal?.code == .connectionRefused)
            #expect(refusal?.outlook == .passing)
        }
    }

    @Test(arguments: Twin.allCases)
    func attemptGivenUpAtOnceEndsOnce(twin: Twin) async throws {
        try await withNetwork(try TestNetwork(twin)) { network in
            for number in 0..<20 {
                let client = Recorder()
                let connection = try network.connect(client)
                if number.isMultiple(of: 2) { connection.abort() } else { connection.close() }
                _ = try await client.closed()
                #expect(client.state.value.closes.count == 1)
                #expect(client.state.value.callsAfterClose == 0)
            }
        }
    }

    @Test(arguments: Twin.allCases)
    func pausedReceiverMakesTheSendersQueueGrowAndResumingDrainsIt(twin: Twin) async throws {
        let makeDelegate: @Sendable () -> Recorder = {
            Recorder(keepsMessages: false, didOpen: { $0.pauseReceiving() })
        }
        try await withNetwork(try TestNetwork(twin, makeDelegate: makeDelegate)) { network in
            let client = Recorder()
            let connection = try network.connect(client)
            try await client.opened()
            let server = try await network.firstAccepted()
            try await server.opened()
            let message = SharedBuffer([UInt8](repeating: 1, count: 1 << 20))
            for _ in 0..<32 { connection.send(message) }
            #expect(connection.queuedBytes > 1 << 20)
            #expect(server.state.value.messageCount <= 1)
            server.state.value.connection?.resumeReceiving()
            try await client.state.wait(for: "the drained queue") { $0.drainCount > 0 }
            try await server.state.wait(for: "all messages") { $0.messageCount == 32 }
            // The last bytes may have arrived before their sender knows that the kernel has taken them.
            while connection.queuedBytes > WebSocketOptions().lowWaterByteCount { await Task.yield() }
        }
    }

    @Test(arguments: Twin.allCases)
    func sendersOnManyThreadsEachKeepTheirOrder(twin: Twin) async throws {
        try await withNetwork(try TestNetwork(twin, makeDelegate: { Recorder() })) { network in
            let client = Recorder()
            let connection = try network.connect(client)
            await withTaskGroup(of: Void.self) { tasks in
                for sender in 0..<4 {
                    tasks.addTask {
                        for number in 0..<1_000 {
                            connection.send(SharedBuffer([UInt8(sender), UInt8(number >> 8), UInt8(number & 0xFF)]))
                        }
                    }
                }
            }
            let messages = try await network.firstAccepted().received(4_000)
            for sender in 0..<4 {
                let numbers = messages.filter { $0[0] == UInt8(sender) }.map { Int($0[1]) << 8 | Int($0[2]) }
                #expect(numbers == Array(0..<1_000))
            }
        }
    }

    @Test(arguments: Twin.allCases)
    func receiverThatPausesAtEveryMessageGetsAllInOrder(twin: Twin) async throws {
        let makeDelegate: @Sendable () -> Recorder = {
            Recorder(react: { connection, _ in
                connection.pauseReceiving()
                Clock.loop.execute { connection.resumeReceiving() }
            })
        }
        try await withNetwork(try TestNetwork(twin, makeDelegate: makeDelegate)) { network in
            let client = Recorder()
            let connection = try network.connect(client)
            // Frames of many lengths, so that reads end at any place within one.
            let messages = (0..<4_000).map { number in
                [UInt8(number & 0xFF), UInt8(number >> 8)] + [UInt8](repeating: 7, count: number * 31 % 700)
            }
            for message in messages { connection.send(SharedBuffer(message)) }
            let server = try await network.firstAccepted()
            let state = try await server.state.wait(for: "all messages or the end") {
                $0.messageCount >= messages.count || !$0.closes.isEmpty
            }
            #expect(state.messages == messages)
            #expect(state.closes.isEmpty)
        }
    }
}
