import SluiceModel
import TestSupport
import Testing

@testable import SluiceTransport

/// Two connections that send to each other while bytes are cut and delayed and both sides pause, all drawn from a seed.
@Suite(.ownThread) struct StreamSimulatorTests {
    private struct Side {
        var connection: WebSocketConnection
        var tape: Tape
        var sent: [[UInt8]] = []
    }

    private static func message(_ generator: inout SeededGenerator) -> [UInt8] {
        let lengths = [0, 1, 20, 125, 126, 700, 5_000, 16_383, 16_400, 40_000, 65_535, 65_536, 150_000]
        return [UInt8](repeating: UInt8.random(in: 0...255, using: &generator), count: generator.pick(lengths))
    }

    private static func share(_ generator: inout SeededGenerator) -> Int {
        generator.pick([1, 2, 7, 100, 1_000, 16_408, 65_536, 65_537, 1 << 20])
    }

    /// - Returns: what is wrong at the end; nil if each side has received exactly what the other sent.
    private func run(seed: UInt64, loop: EventLoop, tls: (client: TLSContext, server: TLSContext)?) throws -> String? {
        var generator = SeededGenerator(seed: seed)
        let tapes = (0..<2).map { _ in
            Tape(pauses: Set((0..<6).map { _ in Int.random(in: 0...30, using: &generator) }))
        }
        let pair = try ConnectionPair(tapes[0], tapes[1], loop: loop, tls: tls)
        defer { pair.tearDown() }
        var sides = [
            Side(connection: pair.client, tape: tapes[0]), Side(connection: pair.server, tape: tapes[1]),
        ]
        let ends = [pair.clientEnd, pair.serverEnd]
        for _ in 0..<150 {
            let one = Int.random(in: 0...1, using: &generator)
            switch Int.random(in: 0..<10, using: &generator) {
            case 0...1:
                // A server's owner knows its connection only once it is open.
                guard one == 0 || sides[1].tape.recorded.isOpen else { break }
                let message = Self.message(&generator)
                sides[one].sent.append(message)
                sides[one].connection.send(SharedBuffer(message))
            case 2: sides[one].connection.pauseReceiving()
            case 3: sides[one].connection.resumeReceiving()
            case 4: break
            default: ends[one].deliver(Self.share(&generator))
            }
            if generator.chance(80) { pair.turn() }
        }
        // One side closes after its last message, possibly while the other side is paused.
        let closing = Int.random(in: 0...1, using: &generator)
        if !sides[closing].tape.recorded.isOpen { pair.settle() }
        sides[closing].connection.close(code: .normal, reason: "")
        for _ in 0..<8 {
            pair.settle()
            for side in sides { side.connection.resumeReceiving() }
        }
        pair.settle()
        let other = 1 - closing
        if sides[other].tape.recorded.messages != sides[closing].sent {
            return "side \(other) got \(sides[other].tape.recorded.messages.map(\.count)) instead of "
                + "\(sides[closing].sent.map(\.count)); ends \(sides.map(\.tape.recorded.closes))"
        }
        // The side that closes stops receiving; what it has received is in order.
        let heard = sides[closing].tape.recorded.messages
        if heard != Array(sides[other].sent.prefix(heard.count)) { return "side \(closing) got something else" }
        for side in sides where side.tape.recorded.closes != [nil] { return "\(side.tape.recorded.closes)" }
        return nil
    }

    @Test func twoSidesThatPauseAtRandomGetEachOthersMessages() throws {
        let loop = try EventLoop(hasThread: false)
        for seed in UInt64(0)..<60 {
            if let problem = try run(seed: seed, loop: loop, tls: nil) {
                Issue.record("seed \(seed): \(problem)")
                return
            }
        }
    }

    @Test(.enabled(if: Certificates.shared != nil, "the openssl tool is missing"))
    func twoSidesThatPauseAtRandomOverTLSGetEachOthersMessages() throws {
        let certificates = try #require(Certificates.shared)
        let tls = (
            client: try TLSContext(trust: .authorities(files: [certificates.path("ca.pem")]), setting: ""),
            server: try TLSContext(server: certificates.server("good"))
        )
        let loop = try EventLoop(hasThread: false)
        for seed in UInt64(0)..<30 {
            if let problem = try run(seed: seed, loop: loop, tls: tls) {
                Issue.record("seed \(seed): \(problem)")
                return
            }
        }
    }
}
