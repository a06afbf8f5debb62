import Dispatch
import SluiceBackend
import SluiceTesting
import Synchronization
import TestSupport
import Testing

/// What a server logs.
private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    var sink: LogSink { LogSink(level: .warning) { line in self.lines.withLock { $0.append("\(line)") } } }
}

/// What becomes of writes that did not know of each other.
struct ResolverTests {
    /// Two stores change one flight, `first` before `second` by the clock; the one named `late` is cut off and arrives
    /// last.
    private func outcome(
        of server: TestServer, late: Int, _ first: @escaping @Sendable (inout Flight) -> Void,
        _ second: @escaping @Sendable (inout Flight) -> Void
    ) async throws -> Flight {
        let stores = [try await server.open(models), try await server.open(models)]
        let recorders = try stores.map { try EventRecorder($0.objects(Flight.self)) }
        for recorder in recorders { try await recorder.complete() }
        // An earlier outcome may have left the flight with other values; both shall have seen these before they write.
        let base = Flight(id: "UA1", delay: 10, gate: "A1")
        try await stores[0].write { try $0.upsert(base) }
        try await stores[0].uploaded(timeout: waitMax)
        try await recorders[1].event { change in Array(change.results) == [base] }
        server.clock.advance(by: .seconds(1))
        server.cut(stores[late])
        for (store, change) in zip(stores, [first, second]) {
            try await store.write { try $0.update(Flight(id: "UA1"), change) }
            server.clock.advance(by: .seconds(1))
        }
        try await stores[1 - late].uploaded(timeout: waitMax)
        server.restore(stores[late])
        try await stores[late].uploaded(timeout: waitMax)
        let nyc = try await server.database(models: models)
        let flight = try #require(try await nyc.object(Flight.self, key: "UA1"))
        for recorder in recorders {
            try await recorder.event { change in Array(change.results) == [flight] }
        }
        return flight
    }

    @Test(arguments: [0, 1]) func theDefaultsGoByNameAndEverybodyConverges(late: Int) async throws {
        let expected: [(ConflictResolver, delay: Int)] = [
            (.lastWriterWins, 30), (.serverWins, late == 0 ? 30 : 20), (.clientWins, late == 0 ? 20 : 30),
        ]
        for (resolver, delay) in expected {
            let server = try TestServer { $0.resolveConflicts(of: Flight.self, by: resolver) }
            let flight = try await outcome(of: server, late: late) {
                $0.delay = 20
                $0.gate = "B2"
            } _: {
                $0.delay = 30
            }
            // Only one side has changed the gate, so there is no conflict about it.
            #expect(flight == Flight(id: "UA1", delay: delay, gate: "B2"))
        }
    }

    @Test(arguments: [0, 1]) func aClosureSeesBothSidesAndTheBaseAndItsValuesCount(late: Int) async throws {
        let seen = Mutex<[[Int?]]>([])
        let server = try TestServer { server in
            server.resolveConflicts(of: Flight.self) { conflict in
                seen.withLock {
                    $0.append([
                        conflict.base?.delay, conflict.local.delay, conflict.remote.delay, conflict.merged.delay,
                    ])
                }
                var flight = conflict.merged
                flight.delay = conflict.local.delay + conflict.remote.delay
                flight.gate = "both"
                return flight
            }
        }
        let flight = try await outcome(of: server, late: late) {
            $0.delay = 20
        } _: {
            $0.delay = 30
        }
        #expect(flight == Flight(id: "UA1", delay: 50, gate: "both"))
        #expect(seen.withLock { $0 } == [late == 0 ? [10, 20, 30, 30] : [10, 30, 20, 30]])
    }

    @Test func itIsAskedOnlyWhereThereIsAConflict() async throws {
        let asked = Mutex(0)
        let server = try TestServer { server in
            server.resolveConflicts(of: Flight.self) { conflict in
                asked.withLock { $0 += 1 }
                return conflict.merged
            }
        }
        _ = try await outcome(of: server, late: 0) {
            $0.delay = 20
        } _: {
            $0.gate = "B2"
        }
        _ = try await outcome(of: server, late: 0) {
            $0.delay = 30
        } _: {
            $0.delay = 30
        }
        #expect(asked.withLock { $0 } == 0)
        // Additions add up, writes of one client that follow each other are none, and a deletion wins.
        let (ada, bob) = (try await server.open(models), try await server.open(models))
        let nyc = try await server.database(models: models)
        try await nyc.putFlight("UA2", delay: 1)
        let recorders = [try EventRecorder(ada.objects(Flight.self)), try EventRecorder(bob.objects(Flight.self))]
        for recorder in recorders { try await recorder.complete() }
        server.cut(ada)
        for _ in 0..<3 { try await ada.write { try $0.increment(Flight(id: "UA2"), \.delay, by: 1) } }
        for number in 1...3 { try await ada.write { try $0.update(Flight(id: "UA2")) { $0.gate = "G\(number)" } } }
        try await bob.write { try $0.increment(Flight(id: "UA2"), \.delay, by: 10) }
        try await bob.write { try $0.delete(Flight.self, key: "UA1") }
        try await bob.uploaded(timeout: waitMax)
        try await ada.write { try $0.update(Flight(id: "UA1")) { $0.delay = 99 } }
        server.restore(ada)
        try await ada.uploaded(timeout: waitMax)
        #expect(try await nyc.objects(Flight.self).fetch() == [Flight(id: "UA2", delay: 14, gate: "G3")])
        #expect(asked.withLock { $0 } == 0)
    }

    @Test func oneThatFailsOrHangsLeavesTheRulesToDecideAndTheServerSaysSo() async throws {
        struct Bug: Error {}
        let hang = DispatchSemaphore(value: 0)
        defer { hang.signal() }
        for kind in ["throws", "hangs", "misfits"] {
            let lines = Lines()
            let server = try TestServer(log: lines.sink) { server in
                server.resolveConflicts(
                    of: "Flight",
                    by: .custom(timeLimit: .milliseconds(20)) { _ in
                        switch kind {
                        case "throws": throw Bug()
                        case "hangs":
                            hang.wait()
                            hang.signal()
                            return ["delay": .int(-1)]
                        default: return ["delay": .string("late")]
                        }
                    })
            }
            let flight = try await outcome(of: server, late: 0) {
                $0.delay = 20
            } _: {
                $0.delay = 30
            }
            #expect(flight == Flight(id: "UA1", delay: 30, gate: "A1"))
            #expect(lines.all.contains { $0.contains("the rules have decided") }, "\(kind)")
        }
    }
}
