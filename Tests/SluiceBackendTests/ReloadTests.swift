import SluiceBackend
import SluiceModel
import SluiceTransport
import TestSupport
import Testing

/// Rules and quotas that a running server takes over.
@Suite(.timeLimit(.minutes(10))) struct ReloadTests {
    private static let open =
        #"{"database":{"schema":true},"classes":{"Flight":{"read":true,"create":true,"update":true,"delete":true},"Carrier":{"read":true}}}"#
    private static let readOnly = #"{"database":{"schema":true},"classes":{"Flight":{"read":true}}}"#

    private func store(_ network: LoopbackNetwork, _ database: String = "nyc") async throws -> Store {
        var sync = SyncConfiguration(url: "ws://server/\(database)")
        sync.loopback = network
        sync.reconnectDelay = .milliseconds(1)
        sync.reconnectDelayMax = .milliseconds(20)
        return try await Store.open(StoreConfiguration(models: models, sync: sync))
    }

    private func configuration(_ folder: String?, _ network: LoopbackNetwork) -> ServerConfiguration {
        var configuration = ServerConfiguration(dataFolder: folder, host: "server")
        configuration.loopback = network
        configuration.logins.custom = { _ in LoginUser(id: "ada") }
        configuration.rules = Self.open
        return configuration
    }

    @Test(arguments: [true, false])
    func otherRulesHoldInOpenDatabasesAndInThoseThatAreOpenedLater(isInFiles: Bool) async throws {
        try await withFolder { folder in
            let network = LoopbackNetwork()
            var configuration = configuration(isInFiles ? folder + "/data" : nil, network)
            let server = try SyncServer(configuration)
            try server.start()
            let store = try await store(network)
            try await store.write { try $0.upsert(Flight(id: "A", delay: 1)) }
            try await store.uploaded(timeout: waitMax)

            configuration.rules = Self.readOnly
            try server.reload(configuration)
            // It waits for the database, which has taken over the rules by then.
            let nyc = try await server.database("nyc", models: models)
            #expect(try await nyc.objects(Flight.self).count() == 1)
            let other = try await server.database("other", models: models)
            for (database, store) in [(nyc, store), (other, try await self.store(network, "other"))] {
                let count = try await database.objects(Flight.self).count()
                try await store.connected(timeout: waitMax)
                try await store.write { try $0.upsert(Flight(id: "B", delay: 1)) }
                try await store.uploaded(timeout: waitMax)
                #expect(try await database.objects(Flight.self).count() == count)
                #expect(try await store.objects(Flight.self).synced(timeout: waitMax).count == count)
            }
            await server.stop()
        }
    }

    /// The file that is put back is the one that an operator means, although it is older than what it replaces.
    @Test(arguments: [true, false])
    func `a file of rules that is put back holds, and one that does not fit is warned of`(isInFile: Bool) async throws {
        try await withFolder { folder in
            let network = LoopbackNetwork()
            let lines = Guarded<[LogLine]>([])
            var configuration = configuration(isInFile ? folder + "/data" : nil, network)
            configuration.log = LogSink(level: .warning) { line in lines.withLock { $0.append(line) } }
            let server = try SyncServer(configuration)
            try server.start()
            let store = try await store(network)
            func write(_ id: String) async throws -> Int {
                let nyc = try await server.database("nyc", models: models)
                try await store.write { try $0.upsert(Flight(id: id, delay: 1)) }
                try await store.uploaded(timeout: waitMax)
                return try await nyc.objects(Flight.self).count()
            }
            #expect(try await write("A") == 1)
            configuration.rules = #"{"database":{"schema":true},"classes":{"Flihgt":{"read":true}}}"#
            try server.reload(configuration)
            #expect(try await write("B") == 1)
            let warning = lines.withLock { lines in
                lines.first { $0.message == "the server's rules do not fit the classes of a database" }
            }
            let problems = warning?.metadata.first { $0.name == "problems" }?.value ?? ""
            #expect(problems.contains("Flihgt") == isInFile)
            configuration.rules = Self.open
            try server.reload(configuration)
            #expect(try await write("C") == 2)
            await store.close()
            await server.stop()
        }
    }

    @Test func otherQuotasHoldForTheNextWhoAsksAndWhatIsThereStays() async throws {
        let network = LoopbackNetwork()
        var configuration = configuration(nil, network)
        let server = try SyncServer(configuration)
        try server.start()
        let first = try await store(network)
        let second = try await store(network)
        for store in [first, second] { try await store.connected(timeout: waitMax) }
        let observed = try first.objects(Flight.self).observe { _ in }
        _ = try await first.objects(Flight.self).synced(timeout: waitMax)

        configuration.quotas.subscriptionCountMaxPerUser = 1
        configuration.quotas.sessionCountMaxPerUser = 2
        configuration.quotas.classCountMax = 4
        try server.reload(configuration)
        _ = try await server.database("nyc", models: models).objects(Flight.self).count()
        await #expect(throws: SyncError.self) { try await second.objects(Carrier.self).synced(timeout: waitMax) }
        observed.stop()
        let third = try await store(network)
        await #expect(throws: SyncError.self) { try await third.connected(timeout: .milliseconds(50)) }
        for store in [first, second] { try await store.connected(timeout: .zero) }
        await server.stop()
    }

    @Test func whatIsWrongChangesNothing() async throws {
        let network = LoopbackNetwork()
        var configuration = configuration(nil, network)
        let server = try SyncServer(configuration)
        try server.start()
        configuration.quotas.sessionCountMaxPerUser = 1
        configuration.rules = "{"
        #expect(throws: ServerError.self) { try server.reload(configuration) }
        configuration.rules = Self.open
        configuration.quotas.classCountMax = 0
        #expect(throws: ServerError.self) { try server.reload(configuration) }
        configuration.quotas.classCountMax = nil
        configuration.certificate = .init(chainFile: "/nowhere.pem", keyFile: "/nowhere.key")
        #expect(throws: ServerError.self) { try server.reload(configuration) }
        let stores = [try await store(network), try await store(network)]
        for store in stores { try await store.connected(timeout: waitMax) }
        await server.stop()
    }

    @Test(arguments: [true, false])
    func `another limit for the log of consumers holds in an open database`(isInFile: Bool) async throws {
        try await withFolder { folder in
            let network = LoopbackNetwork()
            let lines = Guarded<[LogLine]>([])
            var configuration = configuration(isInFile ? folder + "/data" : nil, network)
            configuration.log = LogSink(level: .warning) { line in lines.withLock { $0.append(line) } }
            let server = try SyncServer(configuration)
            try server.start()
            let nyc = try await server.database("nyc", models: models)
            try await nyc.putFlight("A", delay: 0)
            try await nyc.consumer("slow", of: nyc.objects(Flight.self)).runOnce { try await $0.commit() }

            /// Writes so many versions that the log is looked at when the server next does its upkeep.
            func write(_ round: Int) async throws {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for writer in 0..<20 {
                        group.addTask {
                            for number in 0..<520 {
                                try await nyc.putFlight("\(writer)", delay: round * 1_000 + number)
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
            func lateConsumers() -> [String] {
                lines.withLock { lines in
                    lines.filter { $0.message.contains("no longer kept for it") }.compactMap { line in
                        line.metadata.first { $0.name == "consumer" }?.value
                    }
                }
            }
            try await write(1)
            #expect(lateConsumers().isEmpty)
            configuration.quotas.consumerLogByteCountMax = 10_000
            try server.reload(configuration)
            try await write(2)
            try await wait(for: "the upkeep of the server") { !lateConsumers().isEmpty }
            #expect(lateConsumers() == ["slow"])
            await server.stop()
        }
    }
}
