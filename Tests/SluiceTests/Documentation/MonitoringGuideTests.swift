#if SLUICE_MACROS
    import Foundation
    import Sluice
    import SluiceModel
    import SluiceServer
    import SluiceTesting
    import Synchronization
    import Testing

    /// As much of swift-log's `Logger` as an adapter uses, in its own words.
    struct Logger: Sendable {
        enum Level: String, Sendable { case trace, debug, info, notice, warning, error, critical }

        struct Message: ExpressibleByStringInterpolation, CustomStringConvertible, Sendable {
            let description: String
            init(stringLiteral value: String) { description = value }
        }

        enum MetadataValue: ExpressibleByStringInterpolation, Sendable {
            case string(String)
            init(stringLiteral value: String) { self = .string(value) }
        }

        typealias Metadata = [String: MetadataValue]

        let handler: @Sendable (Level, Message, Metadata, String) -> Void

        func log(
            level: Level, _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil,
            source: @autoclosure () -> String? = nil
        ) { handler(level, message(), metadata() ?? [:], source() ?? "") }
    }

    extension Logger: LogReceiver {
        func receive(_ line: LogLine) {
            let level = Logger.Level(rawValue: line.level == .verbose ? "trace" : line.level.rawValue) ?? .info
            let metadata = line.metadata.reduce(into: Logger.Metadata()) { $0[$1.name] = "\($1.value)" }
            log(level: level, "\(line.message)", metadata: metadata, source: "Sluice.\(line.domain)")
        }
    }

    struct SlowWrites: StoreMetrics {
        let report: @Sendable (Duration) -> Void

        func wrote(took duration: Duration, isStored: Bool) {
            if duration > .milliseconds(100) { report(duration) }
        }
    }

    /// What docs/monitoring.md shows, run.
    @Suite(.timeLimit(.minutes(10))) struct MonitoringGuideTests {
        private let server: TestServer

        init() throws { server = try TestServer() }

        @Test func aLoggerOfALibraryIsASink() async throws {
            let lines = Mutex<[String]>([])
            let logger = Logger { level, message, metadata, source in
                let details = metadata.keys.sorted().joined(separator: ",")
                lines.withLock { $0.append("\(level.rawValue) \(source) \(message) \(details)") }
            }
            let store = try await server.open(lifecycleModels) { configuration in
                configuration.log = LogSink(level: .debug, to: logger)
            }
            try await store.connected()
            #expect(lines.withLock { $0 }.contains("info Sluice.sync session opened outcome,version"))
            logger.receive(LogLine(.verbose, .store, "x"))
            logger.receive(LogLine(.warning, .store, "y"))
            #expect(lines.withLock { $0 }.suffix(2) == ["trace Sluice.store x ", "warning Sluice.store y "])
        }

        @Test func aSinkIsAClosureToo() async throws {
            _ = try await server.open(lifecycleModels) { configuration in
                configuration.log = LogSink(level: .info, domains: [.network: .warning, .store: nil]) { line in
                    print(line)
                }
            }
        }

        @Test func metricsAreTypedAndHaveAText() async throws {
            let slow = Mutex<[Duration]>([])
            let counting = Mutex<MetricsText?>(nil)
            let store = try await server.open(lifecycleModels) { configuration in
                let metrics = MetricsText()
                configuration.metrics = metrics
                counting.withLock { $0 = metrics }
            }
            let metrics = try #require(counting.withLock { $0 })
            _ = try await server.open(lifecycleModels) { configuration in
                configuration.metrics = SlowWrites { duration in slow.withLock { $0.append(duration) } }
            }
            try await store.upload(vins: "a", "b")
            await #expect(throws: CancellationError.self) { try await store.write { _ in throw CancellationError() } }
            server.cut(store)
            server.restore(store)
            try await store.connected()
            server.rejectWrites(to: Vehicle.self)
            try await store.write { try $0.insert(Vehicle(vin: "c", plate: "P")) }
            try await store.uploaded()
            try await store.core.perform { $0.onMismatch?() }
            let lines = metrics.text.split(separator: "\n").map(String.init)
            #expect(lines.contains("sluice_store_digest_differences_total 1"))
            #expect(lines.contains("# TYPE sluice_store_connections_total counter"))
            #expect(lines.contains("sluice_store_connections_total 2"))
            #expect(lines.contains("sluice_store_disconnections_total 1"))
            #expect(lines.contains("sluice_store_write_seconds_count{outcome=\"stored\"} 2"))
            #expect(lines.contains("sluice_store_write_seconds_count{outcome=\"failed\"} 1"))
            #expect(lines.contains("sluice_store_rejected_writes_total{code=\"writeRejected\"} 1"))
            let sent = try #require(lines.first { $0.hasPrefix("sluice_store_sent_bytes_total ") })
            #expect(Int(sent.split(separator: " ")[1]) ?? 0 > 100)
            for (position, line) in lines.enumerated() where line.hasPrefix("# TYPE") {
                #expect(lines[position - 1].hasPrefix("# HELP " + line.split(separator: " ")[2]))
            }
        }

        @Test func aServerCountsToo() async throws {
            let network = LoopbackNetwork()
            var configuration = ServerConfiguration(host: "server", isDevelopment: true)
            configuration.loopback = network
            let server = try SyncServer(configuration)
            try server.start()
            var sync = SyncConfiguration(url: "ws://server/shop")
            sync.loopback = network
            let store = try await Store.open(StoreConfiguration(models: lifecycleModels, sync: sync))
            try await store.upload(vins: "a")
            let text = await server.metricsText()
            #expect(text.contains("\nsluice_server_connections 1\n"))
            #expect(text.contains("\nsluice_server_sessions 1\n"))
            #expect(text.contains("\nsluice_server_transactions_total{outcome=\"stored\"} 1\n"))
            #expect(text.contains("\nsluice_server_commit_seconds_count{step=\"sync\"} "))
            #expect(!text.contains("shop"), "names of databases are no labels: clients choose them")
            await store.close()
            await server.stop()
            let after = await server.metricsText()
            #expect(after.contains("\nsluice_server_connections 0\n"))
            #expect(after.contains("\nsluice_server_transactions_total{outcome=\"stored\"} 1\n"), "it counts on")
        }

        @Test func labelsAreEscaped() {
            let metrics = MetricsText()
            metrics.count("n", "Help.", label: ("l", "a\"b\\c\nd"))
            #expect(metrics.text == "# HELP n Help.\n# TYPE n counter\nn{l=\"a\\\"b\\\\c\\nd\"} 1\n")
        }
    }
#endif
