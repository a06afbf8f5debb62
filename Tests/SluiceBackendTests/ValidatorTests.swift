import Dispatch
import SluiceBackend
import SluiceTesting
import Synchronization
import TestSupport
import Testing

/// Code of the server's user that judges what clients write.
struct ValidatorTests {
    /// Refuses flights that are a day late, and makes negative delays zero.
    @Sendable private static func judge(_ server: SyncServer) {
        server.onWrite(to: Flight.self) { write in
            guard let flight = write.new else {
                return write.old?.gate == nil ? .accept : .refuse("a flight at a gate stays")
            }
            if flight.delay >= 1_440 { return .refuse("\(flight.id) is a day late") }
            return flight.delay < 0 ? try write.amended { $0.delay = 0 } : .accept
        }
    }

    private final class Reports: Sendable {
        private let all = Mutex<[WriteRejection]>([])
        private let token = Mutex<HandlerToken?>(nil)

        init(_ store: Store) {
            token.withLock { $0 = store.onWriteRejected { rejection in self.all.withLock { $0.append(rejection) } } }
        }

        var list: [WriteRejection] { all.withLock { $0 } }

        func end() { token.withLock { $0 = nil } }
    }

    @Test func aRefusedTransactionRevertsAsAWholeAndIsReportedWithReasonAndValues() async throws {
        let server = try TestServer(prepare: Self.judge)
        let store = try await server.open(models)
        let reports = Reports(store)
        defer { reports.end() }
        let recorder = try EventRecorder(store.objects(Flight.self))
        try await recorder.complete()
        try await store.write { try $0.insert(Flight(id: "UA1", delay: 5)) }
        try await store.uploaded(timeout: waitMax)
        try await store.write { transaction in
            try transaction.update(Flight(id: "UA1")) { $0.delay = 1_440 }
            try transaction.insert(Flight(id: "UA2", delay: 6))
        }
        try await store.uploaded(timeout: waitMax)
        try await wait(for: "the report") { !reports.list.isEmpty }
        #expect(try store.objects(Flight.self).fetch() == [Flight(id: "UA1", delay: 5)])
        let report = try #require(reports.list.first)
        #expect(reports.list.count == 1)
        #expect(report.object == Identity(className: "Flight", key: .string("UA1")))
        #expect(report.reason.code == .writeRejected)
        #expect(report.reason.message == "UA1 is a day late")
        #expect(report.rejectedValues == ["delay": .int(1_440)])
        let nyc = try await server.database(models: models)
        #expect(try await nyc.objects(Flight.self).fetch() == [Flight(id: "UA1", delay: 5)])
        // Deletions are judged too.
        try await store.write { try $0.update(Flight(id: "UA1")) { $0.gate = "B1" } }
        try await store.write { try $0.delete(Flight.self, key: "UA1") }
        try await store.uploaded(timeout: waitMax)
        try await wait(for: "the report") { reports.list.count == 2 }
        #expect(reports.list.last?.reason.message == "a flight at a gate stays")
        #expect(try store.objects(Flight.self).fetch() == [Flight(id: "UA1", delay: 5, gate: "B1")])
    }

    @Test func amendedValuesReachTheAuthorAndOthersAsARemoteChange() async throws {
        let server = try TestServer(prepare: Self.judge)
        let author = try await server.open(models)
        let other = try await server.open(models)
        let own = try EventRecorder(author.objects(Flight.self))
        let foreign = try EventRecorder(other.objects(Flight.self))
        try await own.complete()
        try await foreign.complete()
        try await author.write { try $0.insert(Flight(id: "UA1", delay: -7, gate: "C3")) }
        let change = try await own.event { change in change.results.first?.delay == 0 }
        #expect(change.remote != nil)
        #expect(change.modifications == [0])
        #expect(change.results[0].gate == "C3")
        let seen = try await foreign.event { !$0.insertions.isEmpty }
        #expect(Array(seen.results) == [Flight(id: "UA1", delay: 0, gate: "C3")])
        // The value that stays was there already.
        let count = own.events.count
        try await author.write { try $0.increment(Flight(id: "UA1"), \.delay, by: -3) }
        try await author.uploaded(timeout: waitMax)
        try await own.event(from: count) { change in change.results.first?.delay == 0 }
        #expect(try author.objects(Flight.self).fetch().map(\.delay) == [0])
    }

    @Test func aRefusalIsToldAgainAfterARestartUntilItIsSeenAndValuesMayBeKept() async throws {
        try await withFolder { folder in
            let server = try TestServer(prepare: Self.judge)
            let path = folder + "/store"
            func open() async throws -> Store {
                try await server.open(models, path: path) { $0.rejectedWrites = .keepLocal }
            }
            let store = try await open()
            let recorder = try EventRecorder(store.objects(Flight.self))
            try await recorder.complete()
            try await store.write { try $0.insert(Flight(id: "UA1", delay: 9_999)) }
            try await store.uploaded(timeout: waitMax)
            await store.close()
            // Nobody was told, so somebody is now; and once.
            for expected in [1, 0] {
                let again = try await open()
                #expect(try again.objects(Flight.self).fetch() == [Flight(id: "UA1", delay: 9_999)])
                #expect(try again.rejectedWrites.count == 1)
                let reports = Reports(again)
                if expected > 0 { try await wait(for: "the report") { !reports.list.isEmpty } }
                try await again.connected(timeout: waitMax)
                #expect(reports.list.count == expected)
                #expect(reports.list.allSatisfy { $0.reason.message == "UA1 is a day late" })
                reports.end()
                if expected == 0 {
                    try await again.discardRejectedWrites()
                    #expect(try again.objects(Flight.self).fetch().isEmpty)
                }
                await again.close()
            }
        }
    }

    @Test func oneThatThrowsOrAmendsWhatCannotBeIsAClearErrorAndOthersGoOn() async throws {
        struct Bug: Error {}
        let tooLong = String(decoding: [UInt8](repeating: 120, count: 13 << 20), as: UTF8.self)
        let server = try TestServer { server in
            server.onWrite(to: "Flight", timeLimit: .seconds(60)) { write in
                switch write.identity.key {
                case .string("throws"): throw Bug()
                case .string("unknown"): return .amend(["nothing": .int(1)])
                case .string("type"): return .amend(["delay": .string("late")])
                case .string("key"): return .amend(["id": .string("other")])
                case .string("large"): return .amend(["gate": .string(tooLong)])
                default: return .accept
                }
            }
        }
        let store = try await server.open(models)
        let reports = Reports(store)
        defer { reports.end() }
        let recorder = try EventRecorder(store.objects(Flight.self))
        try await recorder.complete()
        for id in ["throws", "unknown", "type", "key", "large", "good"] {
            try await store.write { try $0.insert(Flight(id: id)) }
        }
        try await store.uploaded(timeout: waitMax)
        try await wait(for: "the reports") { reports.list.count == 5 }
        #expect(try store.objects(Flight.self).fetch().map(\.id) == ["good"])
        func message(_ id: String) -> String {
            reports.list.first { $0.object?.key == .string(id) }?.reason.message ?? ""
        }
        #expect(message("throws") == "the server's validator of Flight failed")
        for id in ["unknown", "type", "key"] { #expect(message(id).contains("amended what cannot be"), "\(id)") }
        let large = reports.list.first { $0.object?.key == .string("large") || $0.object == nil }
        #expect(large?.reason.code == .limitExceeded, "\(String(describing: large))")
    }

    @Test func oneThatHangsDelaysOthersAFewTimesAndItsClassIsRefusedUntilItReturns() async throws {
        let hang = DispatchSemaphore(value: 0)
        let calls = Mutex(0)
        let server = try TestServer { server in
            server.onWrite(to: "Flight", timeLimit: .milliseconds(20)) { write in
                calls.withLock { $0 += 1 }
                if write.new?["gate"] == .string("hang") {
                    hang.wait()
                    hang.signal()
                }
                return .accept
            }
        }
        let store = try await server.open(models)
        let reports = Reports(store)
        defer { reports.end() }
        for number in 0..<12 {
            try await store.write { transaction in
                try transaction.insert(Flight(id: "F\(number)", gate: "hang"))
                try transaction.insert(Alert(flight: "F\(number)"))
            }
            // Other classes go on.
            try await store.write { try $0.insert(Carrier(code: "C\(number)")) }
        }
        try await store.uploaded(timeout: waitMax)
        try await wait(for: "the reports") { reports.list.count == 12 }
        let nyc = try await server.database(models: models)
        #expect(try await nyc.objects(Carrier.self).count() == 12)
        #expect(try await nyc.objects(Alert.self).count() == 0)
        #expect(calls.withLock { $0 } == 4)
        let messages = reports.list.map(\.reason.message)
        #expect(messages.filter { $0.contains("took longer than 0.02 seconds") }.count == 4)
        #expect(messages.filter { $0.contains("has not returned from earlier calls") }.count == 8)
        // Once a call returns, the class takes writes again.
        hang.signal()
        try await wait(for: "a write that counts") {
            try await store.write { try $0.upsert(Flight(id: "later", delay: .random(in: 1...1_000_000))) }
            try await store.uploaded(timeout: waitMax)
            return try await nyc.object(Flight.self, key: "later") != nil
        }
    }

    @Test func whatTheServerWritesItselfIsNotJudgedAndEachValidatorSeesWhatThoseBeforeAmended() async throws {
        let server = try TestServer { server in
            Self.judge(server)
            server.onWrite(to: "Flight", in: "test") { write in
                write.new?["delay"] == .int(0) ? .amend(["gate": .string("none")]) : .accept
            }
            server.onWrite(to: "Flight", in: "elsewhere") { _ in .refuse("not here") }
        }
        let nyc = try await server.database(models: models)
        try await nyc.putFlight("UA0", delay: 2_000)
        #expect(try await nyc.object(Flight.self, key: "UA0")?.delay == 2_000)
        let store = try await server.open(models)
        try await store.write { try $0.insert(Flight(id: "UA1", delay: -1)) }
        try await store.uploaded(timeout: waitMax)
        #expect(try await nyc.object(Flight.self, key: "UA1") == Flight(id: "UA1", delay: 0, gate: "none"))
    }

    @Test func rulesJudgeFirstAndAValidatorIsNotAskedAboutWhatTheyRefuse() async throws {
        let asked = Mutex<[String?]>([])
        let rules = #"{"classes": {"Flight": {"read": true, "create": "$user.id == \"ada\"", "update": true}}}"#
        let server = try TestServer(rules: rules) { server in
            server.onWrite(to: "Flight") { write in
                asked.withLock { $0.append(write.userID) }
                return write.changedProperties.contains("gate") && write.old != nil ? .refuse("no gates") : .accept
            }
        }
        _ = try await server.database(models: models)
        let (ada, eve) = (try await server.open(models, user: "ada"), try await server.open(models, user: "eve"))
        let reports = Reports(eve)
        defer { reports.end() }
        try await ada.write { try $0.insert(Flight(id: "UA1")) }
        try await ada.uploaded(timeout: waitMax)
        try await eve.write { try $0.insert(Flight(id: "UA2")) }
        try await eve.uploaded(timeout: waitMax)
        #expect(asked.withLock { $0 } == ["ada"])
        #expect(try await eve.objects(Flight.self).synced(timeout: waitMax).map(\.id) == ["UA1"])
        try await eve.write { try $0.update(Flight(id: "UA1")) { $0.gate = "A1" } }
        try await eve.uploaded(timeout: waitMax)
        try await wait(for: "the reports") { reports.list.count == 2 }
        #expect(reports.list.map(\.reason.code) == [.notPermitted, .writeRejected])
        #expect(asked.withLock { $0 } == ["ada", "eve"])
    }

    @Test func aTransactionOfManyObjectsIsJudgedTogether() async throws {
        let server = try TestServer(prepare: Self.judge)
        let store = try await server.open(models)
        let reports = Reports(store)
        defer { reports.end() }
        try await store.write { transaction in
            for number in 0..<5_000 { try transaction.insert(Flight(id: "F\(number)", delay: -number)) }
        }
        try await store.uploaded(timeout: waitMax)
        let nyc = try await server.database(models: models)
        #expect(try await nyc.objects(Flight.self).where { $0.delay == 0 }.count() == 5_000)
        try await store.write { transaction in
            for number in 5_000..<10_000 { try transaction.insert(Flight(id: "F\(number)", delay: 5_000)) }
        }
        try await store.uploaded(timeout: waitMax)
        #expect(try await nyc.objects(Flight.self).count() == 5_000)
        // A rejection names a few of the objects.
        try await wait(for: "the reports") { !reports.list.isEmpty }
        #expect(reports.list.count == 16)
    }
}
