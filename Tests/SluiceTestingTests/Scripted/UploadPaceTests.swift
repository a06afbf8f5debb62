import Sluice
import SluiceModel
import SluiceWire
import Testing

/// Small transactions that are written faster than the server answers.
struct UploadPaceTests {
    /// A session whose clock the test moves.
    private final class Session {
        let server: ScriptedSession
        private final class Clock { var time = ScriptedSession.now }
        private let clock = Clock()

        init() throws {
            let earlier = try ScriptedSession()
            var options = ClientOptions()
            options.databaseName = "test"
            let engine = try ClientEngine(
                storage: earlier.storage, options: options, now: { [clock] in clock.time }, random: { 1 })
            server = ScriptedSession(earlier, engine: engine)
            server.open()
            _ = server.actions()
        }

        func pass(microseconds: Int64) { clock.time = Timestamp(microseconds: clock.time.microseconds + microseconds) }

        func write(_ ids: ClosedRange<Int64>) throws {
            try server.engine.write { writer in
                for id in ids { try writer.insert(ScriptedSession.user(id, age: 0), ofClass: 0) }
            }
        }

        func acknowledge(_ sequence: UInt64) {
            let header = CommitHeader(
                session: 1, version: 3 + sequence, acceptedAt: ScriptedSession.now, acknowledged: sequence,
                isContinued: false)
            server.receive([.commit(.init(header, blocks: []))])
        }

        /// The sequences of the uploads since the last call, by frames.
        func frames() -> [[UInt64]] {
            server.actions().compactMap { action in
                guard case .send(let frame) = action else { return nil }
                let messages = (try? Frame.decode(frame, as: ClientMessage.self)) ?? []
                return messages.flatMap { message -> [UInt64] in
                    guard case .upload(_, let changesets) = message else { return [] }
                    return changesets.map(\.sequence)
                }
            }
        }

        /// Has the server answer an upload in some time, and sends another.
        func begin(answeringIn microseconds: Int64) throws {
            try write(1...1)
            pass(microseconds: microseconds)
            acknowledge(1)
            try write(2...2)
            #expect(frames() == [[1], [2]])
        }
    }

    @Test func `what is written while a quick server stores an upload travels in one frame`() throws {
        let session = try Session()
        try session.begin(answeringIn: 2_000)
        for id in 3...5 as ClosedRange<Int64> { try session.write(id...id) }
        #expect(session.frames() == [])
        session.acknowledge(2)
        #expect(session.frames() == [[3, 4, 5]])
    }

    @Test func `before a server has answered nothing waits`() throws {
        let session = try Session()
        for id in 1...3 as ClosedRange<Int64> { try session.write(id...id) }
        #expect(session.frames() == [[1], [2], [3]])
    }

    @Test func `nothing waits for a server that takes long to answer`() throws {
        let session = try Session()
        try session.begin(answeringIn: 2_001)
        try session.write(3...3)
        #expect(session.frames() == [[3]])
    }

    @Test func `what waits is sent with a later write once the answer takes long`() throws {
        let session = try Session()
        try session.begin(answeringIn: 0)
        try session.write(3...3)
        session.pass(microseconds: 2_001)
        #expect(session.frames() == [])
        try session.write(4...4)
        #expect(session.frames() == [[3, 4]])
        session.acknowledge(2)
        try session.write(5...5)
        #expect(session.frames() == [[5]], "the answer to the second was slow")
    }

    @Test func `what waits is sent by a timer if neither an answer nor a write comes`() throws {
        let session = try Session()
        try session.begin(answeringIn: 0)
        // The acknowledgement of the first has set the timer.
        session.server.engine.handle(.storePostponed)
        _ = session.server.actions()
        try session.write(3...3)
        let isTimed = session.server.actions().contains { if case .storePostponed = $0 { true } else { false } }
        #expect(isTimed)
        session.server.engine.handle(.storePostponed)
        #expect(session.frames() == [[3]])
    }

    @Test func `a clock that was set back counts as a slow answer`() throws {
        let session = try Session()
        try session.begin(answeringIn: 0)
        session.pass(microseconds: -1)
        try session.write(3...3)
        #expect(session.frames() == [[3]])
    }

    @Test func `no more than 64 operations are under way or wait`() throws {
        let session = try Session()
        try session.begin(answeringIn: 0)
        try session.write(3...3)
        // One operation is under way and one waits, so there is room for 62.
        try session.write(4...65)
        #expect(session.frames() == [])
        try session.write(66...66)
        #expect(session.frames() == [[3, 4, 5]])
    }

    @Test func `what waits when the connection ends is sent in the next session`() throws {
        let session = try Session()
        try session.begin(answeringIn: 0)
        try session.write(3...3)
        session.server.loseConnection()
        session.server.open(.resumed, acknowledged: 2)
        #expect(session.frames().filter { !$0.isEmpty } == [[3]])
    }
}
