import SluiceBackend
import SluiceModel
import SluiceTesting
import TestSupport
import Testing

/// Stores whose clocks are hours off, in every order of writing and arriving.
struct ClockTests {
    struct Case: Sendable, CustomTestStringConvertible {
        /// How far the clock of the one store is off.
        let hours: Int
        /// Whether that store writes first.
        let writesFirst: Bool
        /// Whether that store's write arrives first.
        let arrivesFirst: Bool
        /// Whether that store is opened again before it writes.
        let restarts: Bool

        var testDescription: String {
            "\(hours) hours, \(writesFirst ? "writes" : "is") first, arrives \(arrivesFirst ? "first" : "last")"
                + (restarts ? ", after a restart" : "")
        }

        static let all = [-3, 3].flatMap { hours in
            [true, false].flatMap { writes in
                [true, false].flatMap { arrives in
                    [true, false].map {
                        Case(hours: hours, writesFirst: writes, arrivesFirst: arrives, restarts: $0)
                    }
                }
            }
        }
    }

    @Test(arguments: Case.all) func whoWroteLaterWinsWhateverTheClocksShow(scenario: Case) async throws {
        try await withFolder { folder in
            let server = try TestServer()
            let nyc = try await server.database(models: models)
            try await nyc.putFlight("UA1", delay: 0)
            func open(_ path: String, off hours: Int) async throws -> Store {
                try await server.open(models, path: "\(folder)/\(path)") { [clock = server.clock] in
                    $0.environment.now = {
                        Timestamp(microseconds: clock.timestamp.microseconds + Int64(hours) * 3_600_000_000)
                    }
                }
            }
            var off = try await open("off", off: scenario.hours)
            let right = try await open("right", off: 0)
            for store in [off, right] { _ = try await store.objects(Flight.self).synced(timeout: waitMax) }
            // What it learned of its clock holds without the server, also after a restart.
            server.cut(off)
            server.cut(right)
            if scenario.restarts {
                await off.close()
                await server.stop()
                off = try await open("off", off: scenario.hours)
            }
            for store in scenario.writesFirst ? [off, right] : [right, off] {
                server.clock.advance(by: .seconds(600))
                try await store.write { try $0.update(Flight(id: "UA1")) { $0.delay = store === right ? 1 : 2 } }
            }
            server.clock.advance(by: .seconds(600))
            if scenario.restarts {
                if !scenario.arrivesFirst { server.cut(off) }
                try server.start()
            }
            for store in scenario.arrivesFirst ? [off, right] : [right, off] {
                server.restore(store)
                try await store.uploaded(timeout: waitMax)
            }
            let again = try await server.database(models: models)
            let flight = try #require(try await again.object(Flight.self, key: "UA1"))
            #expect(flight.delay == (scenario.writesFirst ? 1 : 2))
            await off.close()
            await right.close()
        }
    }

    @Test(arguments: [-3, 3]) func aStoreThatNeverMetItsServerIsNotAheadOrBehindForEver(hours: Int) async throws {
        let server = try TestServer()
        let nyc = try await server.database(models: models)
        let off = try await server.open(models) { [clock = server.clock] in
            $0.environment.now = {
                Timestamp(microseconds: clock.timestamp.microseconds + Int64(hours) * 3_600_000_000)
            }
        }
        let right = try await server.open(models)
        for number in 1...5 {
            // Each time both write without knowing of each other, and each is the later one in turn.
            server.cut(off)
            server.cut(right)
            for store in number % 2 == 0 ? [off, right] : [right, off] {
                server.clock.advance(by: .seconds(120))
                try await store.write { try $0.upsert(Flight(id: "UA1", delay: store === right ? -number : number)) }
            }
            server.clock.advance(by: .seconds(120))
            for store in number % 3 == 0 ? [off, right] : [right, off] {
                server.restore(store)
                try await store.uploaded(timeout: waitMax)
            }
            // The first time nobody has compared the clocks yet.
            let delay = try await nyc.object(Flight.self, key: "UA1")?.delay
            if number > 1 { #expect(delay == (number % 2 == 0 ? -number : number), "round \(number)") }
        }
    }
}
