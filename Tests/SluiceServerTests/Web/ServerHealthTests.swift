import SluiceModel
import SluiceStorage
import SluiceTesting
import SluiceTransport
import SluiceWire
import Synchronization
import TestSupport
import Testing

@testable import SluiceServer

/// Whether a server is ready, and what `/health/ready` and `/metrics` say of a running one.
struct ServerHealthTests {
    @Test func serverThatCannotWriteIsReadySinceReadingGoesOn() {
        var health = ServerHealth(phase: .serving)
        (health.openCount, health.writableCount, health.damagedCount, health.failedCount) = (2, 1, 1, 3)
        #expect(health.isReady)
        #expect(
            health.json == """
                {"state":"serving","ready":true,"writable":false,\
                "databases":{"open":2,"writable":1,"damaged":1,"failed":3}}
                """)
    }

    @Test(
        arguments: [
            (0, 0, true), (9_999, 0, true), (10_000, 0, false), (0, 9_999, true), (0, 10_000, false),
        ] as [(UInt64, UInt64, Bool)])
    func journalMayBeSilentOrAheadForTenSeconds(silence: UInt64, lag: UInt64, isReady: Bool) {
        var health = ServerHealth(phase: .serving)
        health.journals = .init(
            silenceMilliseconds: silence, lagMilliseconds: lag, lagPositions: 7, answeringCount: 1, silentCount: 0)
        #expect(health.isReady == isReady)
        #expect(health.json.contains("\"writable\":\(silence == 0)"))
        #expect(
            health.json.hasSuffix(
                """
                "journal":{"answers":\(silence == 0),"silenceMilliseconds":\(silence),"answering":1,"silent":0,\
                "lagPositions":7,"lagMilliseconds":\(lag)}}
                """))
    }

    @Test func lagLastsFromTheFirstThatIsMissedToWhenNothingIs() {
        let record = HealthRecord()
        record.noteBehind(at: 5)
        #expect(record.lag(at: 9) == 0, "what is not open lacks nothing")
        var health = DatabaseHealth()
        record.note(.open(health), at: 10)
        #expect(record.lag(at: 15) == 0)
        record.noteBehind(at: 20)
        record.noteBehind(at: 25)
        #expect(record.lag(at: 30) == 10)
        health.isBehind = true
        record.note(.open(health), at: 40)
        #expect(record.lag(at: 50) == 30)
        (health.isBehind, health.isSilent) = (false, true)
        record.note(.open(health), at: 60)
        #expect(record.lag(at: 70) == 50)
        health.isSilent = false
        record.note(.open(health), at: 80)
        #expect(record.lag(at: 90) == 0)
        record.noteBehind(at: 100)
        record.note(.closed, at: 110)
        #expect(record.lag(at: 120) == 0)
    }

    // MARK: Servers

    private func serve(
        _ change: (inout ServerConfiguration) -> Void = { _ in },
        _ body: (SyncServer, UInt16) async throws -> Void
    ) async throws {
        var configuration = ServerConfiguration(port: 0, isDevelopment: true)
        change(&configuration)
        let server = try SyncServer(configuration)
        let port = try server.start()
        let result: Result<Void, any Error>
        do { result = .success(try await body(server, port)) } catch { result = .failure(error) }
        await server.stop()
        try result.get()
    }

    private func open(_ name: String, on server: SyncServer) async throws {
        _ = try await server.access(to: name).worker.perform { engine, _ in engine.health }
    }

    @Test func runningServerAnswersProbesAndNothingElse() async throws {
        try await serve { server, port in
            #expect(try await HTTPAnswer.get("/health/live", port: port).status == 200)
            #expect(try await HTTPAnswer.get("/health/live", port: port, method: "HEAD").body.isEmpty)
            #expect(try await HTTPAnswer.get("/health/live", port: port, method: "POST").status == 405)
            for path in ["/", "/metrics", "/health", "/shop"] {
                #expect(try await HTTPAnswer.get(path, port: port).status == 404)
            }
            try await open("shop", on: server)
            let ready = try await HTTPAnswer.get("/health/ready", port: port)
            #expect(ready.status == 200)
            #expect(ready.body.contains("\"databases\":{\"open\":1,\"writable\":1,\"damaged\":0,\"failed\":0}"))
            #expect(!ready.body.contains("shop"), "names of databases may be secrets")
            server.drain()
            let draining = try await HTTPAnswer.get("/health/ready", port: port)
            #expect(draining.status == 503)
            #expect(draining.body.hasPrefix("{\"state\":\"draining\",\"ready\":false"))
            #expect(try await HTTPAnswer.get("/health/live", port: port).status == 200)
        }
    }

    @Test func serverThatHandsSessionsOverIsNotReadyUnlessItWasStartedForThat() async throws {
        try await serve { server, port in
            try server.handOver(to: "ws://127.0.0.1:9")
            #expect(server.health.phase == .draining)
            try server.handOver(to: nil)
            #expect(server.health.isReady)
        }
        try await serve({ $0.handsOverTo = "ws://127.0.0.1:9" }) { server, port in #expect(server.health.isReady) }
    }

    @Test func silentJournalMakesAServerUnreadyAfterTenSeconds() async throws {
        let uptime = Mutex<Int64>(0)
        let journals = try MemoryJournals()
        try await serve({ configuration in
            configuration.journals = journals
            configuration.uptime = { uptime.withLock { $0 } }
        }) { server, port in
            try await open("shop", on: server)
            #expect(server.health.journals == .init(answeringCount: 1))
            journals.setAnswers(false)
            // The silence is found when something asks the journal.
            try server.access(to: "shop").worker.journalGrew()
            try await wait(for: "the database to notice the silence") { server.health.journals?.silentCount == 1 }
            #expect(server.health.isReady)
            uptime.withLock { $0 += 9_999_000_000 }
            #expect(server.health.isReady)
            uptime.withLock { $0 += 1_000_000 }
            #expect(!server.health.isReady)
            #expect(try await HTTPAnswer.get("/health/ready", port: port).status == 503)
        }
    }

    @Test(arguments: [true, false])
    func nodeThatStopsHandsItsSessionsOverToOneThatCanBeReached(otherHasURL: Bool) async throws {
        let network = LoopbackNetwork()
        let journals = try MemoryJournals()
        let others = journals.another()
        if otherHasURL { others.nodeURL = "ws://other" }
        journals.nodeURL = "ws://server"
        var configuration = ServerConfiguration(host: "server", isDevelopment: true)
        configuration.loopback = network
        configuration.journals = journals
        let server = try SyncServer(configuration)
        try server.start()
        let client = RawClient()
        let connection = network.connect(to: try Endpoint("ws://server/shop"), delegate: client)
        // A session that brings no classes makes no database in the cluster.
        let schema = try Schema([ClassSchema("Item", properties: [Property("name", .scalar(.string))])])
        connection.send(
            .hello(.init(features: .all, agent: "test")), .open(.init(session: 1, path: "shop", schema: schema)))
        while let message = await client.next() { if case .opened = message { break } }
        await server.stop()
        var moved: [String] = []
        while let message = await client.next() { if case .moved(let move) = message { moved.append(move.url) } }
        #expect(moved == (otherHasURL ? ["ws://other/shop"] : []))
        #expect(server.health.phase == .stopped)
        #expect(journals.nodeURL == nil, "nobody is sent here any more")
    }
}
