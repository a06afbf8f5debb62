import SluiceModel
import SluiceWire
import Testing

@testable import SluiceServer

/// The table of a session in the JSON form, which the header of `JSONSession` shows.
struct JSONSessionPhaseTests {
    enum Phase: CaseIterable {
        case new, opening, open, ended
    }

    static func session(_ phase: Phase) -> JSONSession {
        var session = JSONSession(database: "any") { Timestamp(microseconds: 0) }
        switch phase {
        case .new: break
        case .opening: _ = session.receive(text("open"))
        case .open:
            _ = session.receive(text("open"))
            _ = session.noteOpening()
        case .ended: session.end()
        }
        return session
    }

    static func text(_ type: String) -> [UInt8] {
        Array((type == "open" ? #"{"type":"open"}"# : #"{"type":"\#(type)","id":1}"#).utf8)
    }

    private static func phase(of session: JSONSession) -> Phase {
        switch session.phase {
        case .new: .new
        case .opening: .opening
        case .open: .open
        case .ended: .ended
        }
    }

    /// What becomes of a text: the kinds of what is to be done.
    private static func outcome(_ steps: [JSONSession.Step]) -> [String] {
        steps.map { step in
            switch step {
            case .handle(.open, _): "open"
            case .handle: "handled"
            case .reply: "refused"
            }
        }
    }

    @Test func `the first text opens the session, and nothing else does`() {
        var session = Self.session(.new)
        #expect(Self.outcome(session.receive(Self.text("unsubscribe"))) == ["refused"])
        #expect(Self.phase(of: session) == .new)
        #expect(Self.outcome(session.receive(Self.text("open"))) == ["open"])
        #expect(Self.phase(of: session) == .opening)
    }

    @Test func `texts wait while the session opens, are handled once it is open, and are dropped at its end`() {
        var session = Self.session(.opening)
        #expect(session.receive(Self.text("open")).isEmpty)
        #expect(session.held.count == 1)
        session = Self.session(.open)
        #expect(Self.outcome(session.receive(Self.text("open"))) == ["refused"])
        #expect(session.held.isEmpty)
        session = Self.session(.ended)
        #expect(session.receive(Self.text("open")).isEmpty)
        #expect(session.held.isEmpty)
    }

    @Test(arguments: Phase.allCases)
    func `only a session that opens can become open`(phase: Phase) {
        var session = Self.session(phase)
        #expect((session.noteOpening() != nil) == (phase == .opening))
        #expect(Self.phase(of: session) == (phase == .opening ? .open : phase))
    }

    @Test(arguments: Phase.allCases)
    func `a session that is handed over or has failed is over`(phase: Phase) {
        var session = Self.session(phase)
        _ = session.translate([.moved(.init(session: 1, url: "wss://other/any"))])
        #expect(Self.phase(of: session) == .ended)
        session = Self.session(phase)
        _ = session.translate([.error(.init(session: 1, code: .overloaded, message: "later", action: .retry))])
        #expect(Self.phase(of: session) == .ended)
        session = Self.session(phase)
        _ = session.translate([.error(.init(session: 1, code: .overloaded, message: "a report", action: .report))])
        #expect(Self.phase(of: session) == phase)
    }
}
