import TestSupport
import Testing

@testable import SluiceTransport

/// Cuts and pauses a stream of bytes at every place, and compares the result with that of the same bytes in one piece.
@Suite struct PausedStreamTests {
    /// A client's bytes: the upgrade and, directly after it, all kinds of frames.
    private static let clientStream: [UInt8] =
        Array(RawSocket.upgradeRequest.utf8) + RawFrame.masked(.binary, [1]) + RawFrame.masked(.binary, [])
        + RawFrame.masked(.binary, [2, 3], isFinal: false) + RawFrame.masked(.ping, [9, 9])
        + RawFrame.masked(.continuation, [4], isFinal: false) + RawFrame.masked(.continuation, [])
        + RawFrame.masked(.binary, [UInt8](repeating: 5, count: 130)) + RawFrame.masked(.binary, [6, 7])
        + RawFrame.masked(.close, [0x0F, 0xA1, 0x62])

    private struct Outcome: Equatable {
        var tape: Tape.State
        var answer: [UInt8]
    }

    /// Feeds the stream to a server's connection in two pieces, and pauses the connection after some messages.
    private func serve(_ loop: EventLoop, cutAt cut: Int, pausingAfter pauses: Set<Int>) throws -> Outcome {
        let tape = Tape(pauses: pauses)
        let end = try WireEnd()
        let connection = WebSocketConnection(
            role: .server(TapeAcceptor(tls: nil, tape: tape)), state: .connecting, peer: "client", loop: loop,
            options: .init(), delegate: nil)
        connection.start(end.socket)
        end.queue(Self.clientStream)
        for piece in [cut, Self.clientStream.count - cut] {
            end.deliver(piece)
            for _ in 0..<3 { loop.turn(waits: false) }
        }
        // A pause ends when nothing moves any more.
        for _ in pauses {
            connection.resumeReceiving()
            for _ in 0..<3 { loop.turn(waits: false) }
        }
        end.collect()
        let outcome = Outcome(tape: tape.recorded, answer: end.takeWritten())
        connection.abort()
        loop.turn(waits: false)
        return outcome
    }

    @Test func aServersStreamCutAndPausedAnywhereHasTheOutcomeOfTheWhole() throws {
        let loop = try EventLoop(hasThread: false)
        let whole = try serve(loop, cutAt: 0, pausingAfter: [])
        #expect(whole.tape.messages == [[1], [], [2, 3, 4], [UInt8](repeating: 5, count: 130), [6, 7]])
        #expect(whole.tape.closes.count == 1)
        #expect(whole.tape.closes.first??.closeCode == CloseCode(rawValue: 4001))
        for cut in 0...Self.clientStream.count {
            for pause in 0...6 {
                let pauses: Set<Int> = pause == 6 ? [0, 1, 2, 3, 4, 5] : [pause]
                let outcome = try serve(loop, cutAt: cut, pausingAfter: pauses)
                guard outcome != whole else { continue }
                Issue.record("cut at \(cut), paused after \(pauses.sorted()): \(outcome) instead of \(whole)")
                return
            }
        }
    }

    /// The server's messages at the opening, which are sent together with the answer to the upgrade.
    private static let greetings: [[UInt8]] = [[1], [], [UInt8](repeating: 2, count: 200), [3, 4]]

    /// Opens a pair of connections. The bytes to one side are cut at a place, and that side pauses.
    ///
    /// - Returns: what both sides delivered, and how many bytes the cut side was given.
    private func open(
        _ loop: EventLoop, _ tls: (client: TLSContext, server: TLSContext)?, toClient: Bool, cutAt cut: Int, pause: Int?
    ) throws -> (states: [Tape.State], byteCount: Int) {
        let pauses = pause.map { Set([$0]) } ?? []
        let clientTape = Tape(pauses: toClient ? pauses : [], greetings: Self.greetings)
        let serverTape = Tape(pauses: toClient ? [] : pauses, greetings: Self.greetings)
        let pair = try ConnectionPair(clientTape, serverTape, loop: loop, tls: tls)
        let (slow, fast) = toClient ? (pair.clientEnd, pair.serverEnd) : (pair.serverEnd, pair.clientEnd)
        var moved = true
        while moved, slow.deliveredCount < cut {
            pair.turn()
            moved = slow.deliver(cut - slow.deliveredCount) + fast.deliver(.max) > 0
        }
        pair.settle()
        if pause != nil {
            (toClient ? pair.client : pair.server).resumeReceiving()
            pair.settle()
        }
        pair.client.close(code: .normal, reason: "")
        pair.settle()
        let byteCount = slow.deliveredCount
        let states = [clientTape.recorded, serverTape.recorded]
        pair.tearDown()
        return (states, byteCount)
    }

    @Test(arguments: [true, false])
    func aPairCutAndPausedAnywhereDeliversTheSame(toClient: Bool) throws {
        let loop = try EventLoop(hasThread: false)
        let (whole, byteCount) = try open(loop, nil, toClient: toClient, cutAt: 0, pause: nil)
        for state in whole { #expect(state == Tape.State(isOpen: true, messages: Self.greetings, closes: [nil])) }
        for cut in 0...byteCount {
            for pause in [nil, 0, 1, 2, 3, 4] {
                let (states, _) = try open(loop, nil, toClient: toClient, cutAt: cut, pause: pause)
                guard states != whole else { continue }
                Issue.record("cut at \(cut), paused after \(String(describing: pause)): \(states)")
                return
            }
        }
    }

    @Test(.enabled(if: Certificates.shared != nil, "the openssl tool is missing"), arguments: [true, false])
    func aPairOverTLSCutAndPausedAnywhereDeliversTheSame(toClient: Bool) throws {
        let certificates = try #require(Certificates.shared)
        let tls = (
            client: try TLSContext(trust: .authorities(files: [certificates.path("ca.pem")]), setting: ""),
            server: try TLSContext(server: certificates.server("good"))
        )
        let loop = try EventLoop(hasThread: false)
        let (whole, byteCount) = try open(loop, tls, toClient: toClient, cutAt: 0, pause: nil)
        for state in whole { #expect(state == Tape.State(isOpen: true, messages: Self.greetings, closes: [nil])) }
        // The length varies by a few bytes with the signatures. Handshakes are slow, so each cut tries only one of the
        // pauses.
        for cut in 0...(byteCount + 8) {
            let pause = cut % 6 == 5 ? nil : cut % 6
            let (states, _) = try open(loop, tls, toClient: toClient, cutAt: cut, pause: pause)
            guard states != whole else { continue }
            Issue.record("cut at \(cut), paused after \(String(describing: pause)): \(states)")
            return
        }
    }
}
