import SluiceModel
import SluiceWire
import Testing

@testable import Sluice

/// The table of a shared connection's phases, which the header of `ConnectionPhase` shows.
struct ConnectionPhaseTests {
    static let reply: ServerMessage.HelloReply = {
        var limits = ServerLimits()
        limits.sessionCountMax = 3
        return .init(version: 1, features: [], time: Timestamp(microseconds: 7), limits: limits, agent: "test")
    }()
    static let open = ConnectionPhase.open(askedAt: .seconds(1))
    static let greeted = ConnectionPhase.greeted(reply, askedAt: .seconds(1), answeredAt: .seconds(3))
    static let phases = [ConnectionPhase.connecting, open, greeted, .over]

    @Test func `only a connection that was connecting opens`() {
        for phase in Self.phases {
            var next = phase
            let saysHello = next.open(at: .seconds(1))
            #expect(saysHello == (phase == .connecting))
            #expect(next == (phase == .connecting ? Self.open : phase))
        }
    }

    @Test func `only the first answer to the hello is the greeting`() {
        for phase in Self.phases {
            var next = phase
            next.greet(Self.reply, at: .seconds(3))
            #expect(next == (phase == Self.open ? Self.greeted : phase))
            #expect(phase.awaitsGreeting == (phase == Self.open))
        }
    }

    @Test func `a connection ends once`() {
        for phase in Self.phases {
            var next = phase
            #expect(next.end() == (phase != .over))
            #expect(next == .over)
        }
    }

    @Test func `frames are sent from the opening to the end`() {
        #expect(Self.phases.map(\.isOpen) == [false, true, true, false])
    }

    @Test func `the server says how many sessions there may be`() {
        #expect(Self.phases.map(\.sessionCountMax) == [nil, nil, 3, nil])
    }

    @Test func `a place has the time that the answer took, and the server's time of now`() {
        let places = Self.phases.map { $0.place(of: 2, now: .seconds(5)) }
        #expect(places.map(\.session) == [2, 2, 2, 2])
        #expect(places.map(\.wait) == [.zero, .seconds(4), .seconds(2), .zero])
        #expect(places.map(\.greeting?.time.microseconds) == [nil, nil, 2_000_007, nil])
    }
}
