import Sluice
import SluiceModel
import SluiceQuery
import Testing

/// The events that a slow observer receives (decision 2, rows P23, O40).
@Suite struct HeldObserverTests {
    private let server: ScriptedSession
    private let log = EventLog()
    private let observation: UInt64

    /// Makes an observer of two users that is busy with its first event.
    init() throws {
        server = try ScriptedSession()
        observation = try server.engine.observe(try server.query("User SORT(id ASC)")) { [log] in log.events.append($0)
        }
        server.open()
        server.bootstrap(1, [ScriptedSession.user(1, age: 0), ScriptedSession.user(2, age: 0)])
        takeAll()
        log.events = []
        // The next event makes the observer busy.
        try server.setAge(of: 1, to: 1)
        #expect(log.events.count == 1)
        log.events = []
    }

    /// Handles events until there are no more.
    private func takeAll() {
        var count: Int
        repeat {
            count = log.events.count
            server.engine.observerIsReady(observation)
        } while log.events.count > count
    }

    @Test func aLocalAndARemoteCommitComeAsTwoEvents() throws {
        try server.setAge(of: 1, to: 2)
        server.commit(4, to: 1, [ScriptedSession.user(2, age: 7, version: 4)])
        #expect(log.events.isEmpty)
        takeAll()
        #expect(log.events.map { $0.remote == nil } == [true, false])
        #expect(log.ages == [[.int(2), .int(0)], [.int(2), .int(7)]])
        #expect(log.events.map(\.change.modifications) == [[0], [1]])
    }

    @Test func aRemoteAndALocalCommitComeAsTwoEvents() throws {
        server.commit(4, to: 1, [ScriptedSession.user(2, age: 7, version: 4)])
        try server.setAge(of: 1, to: 2)
        takeAll()
        #expect(log.events.map { $0.remote == nil } == [false, true])
        #expect(log.ages == [[.int(1), .int(7)], [.int(2), .int(7)]])
    }

    @Test func commitsOfOneOriginBecomeOneEventWhichNamesAllAuthors() throws {
        server.commit(4, to: 1, [ScriptedSession.user(2, age: 7, version: 4)])
        server.commit(5, to: 1, [ScriptedSession.user(2, age: 8, version: 5)])
        takeAll()
        #expect(log.ages == [[.int(1), .int(8)]])
        #expect(log.events[0].remote?.operations == [.set])
    }

    @Test func oneEventIsOutAtATime() throws {
        try server.setAge(of: 1, to: 2)
        server.commit(4, to: 1, [ScriptedSession.user(2, age: 7, version: 4)])
        try server.setAge(of: 1, to: 3)
        server.engine.observerIsReady(observation)
        #expect(log.events.count == 1)
        server.commit(5, to: 1, [ScriptedSession.user(2, age: 8, version: 5)])
        #expect(log.events.count == 1)
        server.engine.observerIsReady(observation)
        #expect(log.events.count == 2)
    }

    @Test func originsThatAlternateForLongAreGatheredWithoutMixing() throws {
        for round in 1...100 as ClosedRange<Int64> {
            try server.setAge(of: 1, to: 1_000 + round)
            server.commit(UInt64(3 + round), to: 1, [ScriptedSession.user(2, age: round, version: UInt64(3 + round))])
        }
        takeAll()
        #expect(log.events.count <= 8)
        #expect(log.ages.last == [.int(1_100), .int(100)])
        var before: [Value] = [.int(1), .int(0)]
        for (event, ages) in zip(log.events, log.ages) {
            let isRemote = event.remote != nil
            #expect((ages[0] != before[0]) == !isRemote && (ages[1] != before[1]) == isRemote)
            before = ages
        }
    }

    @Test func anObjectThatBothChangedIsToldAsTheLastLeftIt() throws {
        for round in 1...20 as ClosedRange<Int64> {
            try server.engine.write { try $0.insert(ScriptedSession.user(10 + round, age: 0), ofClass: 0) }
            server.commit(
                UInt64(3 + round), to: 1, [ScriptedSession.user(10 + round, age: round, version: UInt64(3 + round))],
                acknowledged: UInt64(1 + round))
        }
        takeAll()
        #expect(log.ages.last?.dropFirst(2) == (1...20).map { .int($0) }[...])
    }
}
