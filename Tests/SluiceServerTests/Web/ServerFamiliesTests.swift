import Dispatch
import Foundation
import SluiceModel
import SluiceStorage
import SluiceTransport
import SluiceWire
import TestSupport
import Testing

@testable import SluiceServer

/// What `/metrics` shows: well-formed, whole from the start, and true.
struct ServerFamiliesTests {
    private func parsed(_ reading: ServerReading) throws -> PrometheusText {
        try PrometheusText(ServerFamilies.make(reading).map(\.text).joined())
    }

    /// The lines of a text by their names and labels, without those of the process.
    private func keys(_ text: PrometheusText) -> Set<String> {
        Set(text.families.values.flatMap(\.values.keys))
    }

    private static var busy: ServerReading {
        var reading = ServerReading()
        reading.health = ServerHealth(phase: .serving)
        reading.health.journals = .init(
            silenceMilliseconds: 1_500, lagMilliseconds: 2_500, lagPositions: 4, answeringCount: 1, silentCount: 2)
        reading.connectionCount = 3
        reading.counts.logins[.password] = (accepted: 5, refused: 6)
        reading.counts.quotas[.sessions] = 7
        for nanoseconds in [1, 100_000, 100_001, 3_000_000_000, 99_000_000_000] as [Int64] {
            reading.counts.turns.note(nanoseconds)
        }
        return reading
    }

    @Test func everyLineIsThereFromTheStart() throws {
        let (idle, busy) = (try parsed(ServerReading()), try parsed(Self.busy))
        #expect(keys(idle) == keys(busy))
        let own = idle.families.filter { $0.key.hasPrefix("sluice_server_") }
        #expect(own.values.allSatisfy { $0.values.values.allSatisfy { $0 == 0 } })
        #expect(own.count > 30)
    }

    @Test func numbersAreInTheirPlaces() throws {
        let text = try parsed(Self.busy)
        #expect(text["sluice_server_ready"] == 1)
        #expect(text["sluice_server_connections"] == 3)
        #expect(text["sluice_server_logins_total{method=\"password\",outcome=\"accepted\"}"] == 5)
        #expect(text["sluice_server_logins_total{method=\"password\",outcome=\"refused\"}"] == 6)
        #expect(text["sluice_server_quota_refusals_total{quota=\"sessions\"}"] == 7)
        #expect(text["sluice_server_silent_journals"] == 2)
        #expect(text["sluice_server_journal_silence_seconds"] == 1.5)
        #expect(text["sluice_server_journal_lag_seconds"] == 2.5)
        #expect(text["sluice_server_journal_lag_positions"] == 4)
        #expect(text["sluice_server_turn_seconds_bucket{le=\"0.0001\"}"] == 2)
        #expect(text["sluice_server_turn_seconds_bucket{le=\"0.00025\"}"] == 3)
        #expect(text["sluice_server_turn_seconds_bucket{le=\"10.0\"}"] == 4)
        #expect(text["sluice_server_turn_seconds_bucket{le=\"+Inf\"}"] == 5)
        #expect(text["sluice_server_turn_seconds_sum"] == 102.000200002)
        #expect(text["sluice_build_info{version=\"\(SluiceRelease.version)\"}"] == 1)
    }

    /// Each number has a value of its own here, and is where its family is.
    @Test func everyFamilyShowsItsOwnNumber() throws {
        var reading = ServerReading()
        reading.health = ServerHealth(phase: .serving)
        (reading.health.openCount, reading.health.writableCount) = (11, 12)
        (reading.health.damagedCount, reading.health.failedCount) = (13, 14)
        (reading.connectionCount, reading.waitingByteCount) = (15, 16)
        (reading.mailboxEventCount, reading.mailboxByteCount) = (17, 18)
        (reading.databaseByteCount, reading.walByteCount) = (19, 20)
        reading.lostAuditEventCount = 21
        reading.databases.sessionCount = 22
        reading.databases.subscriptionCount = 23
        reading.databases.viewCount = 24
        reading.databases.logVersionCount = 25
        (reading.databases.consumerCount, reading.databases.consumerLag) = (26, 27)
        reading.databases.eventLag.note(28_000_000_000)
        reading.databases.statistics.sentPageCount = 29
        reading.databases.statistics.sentDigestCount = 30
        reading.databases.statistics.refusedSubscriptionCount = 31
        reading.databases.statistics.bootstraps.note(32_000_000_000)
        reading.databases.statistics.commits.commitCount = 33
        reading.databases.statistics.commits.groupCount = 34
        reading.databases.statistics.commits.changedObjectCount = 35
        reading.databases.statistics.commits.rejectedChangesetCount = 36
        reading.databases.statistics.commits.heldBackCount = 37
        reading.databases.statistics.commits.failedCount = 38
        for (number, path) in StartCounts.Path.allCases.enumerated() {
            reading.databases.statistics.starts[path] = 39 + UInt64(number)
        }
        reading.databases.statistics.times.prepare.note(44_000_000_000)
        reading.databases.statistics.times.sync.note(45_000_000_000)
        reading.databases.statistics.times.publish.note(46_000_000_000)
        reading.databases.statistics.times.append.note(47_000_000_000)
        reading.databases.statistics.times.appendedCount = 48
        reading.databases.statistics.times.conflictCount = 49
        reading.databases.statistics.times.failedAppendCount = 50
        reading.databases.statistics.times.turnCount = 51
        reading.databases.statistics.times.epochCount = 52
        reading.counts.connectionCount = 53
        (reading.counts.receivedByteCount, reading.counts.sentByteCount) = (54, 55)
        (reading.counts.receivedMessageCount, reading.counts.sentMessageCount) = (56, 57)
        (reading.counts.slowCount, reading.counts.eventCount) = (58, 59)
        reading.counts.turns.note(60_000_000_000)
        (reading.backups.backups.madeCount, reading.backups.backups.failedCount) = (61, 62)
        reading.backups.backups.latest = Timestamp(microseconds: 63_000_000)
        (reading.backups.archivedGroupCount, reading.backups.failedArchivingCount) = (64, 65)
        (reading.backups.archiveLagPositions, reading.backups.archiveLag) = (66, 67_000_000)
        reading.health.journals = .init(
            silenceMilliseconds: 68_000, lagMilliseconds: 69_000, lagPositions: 70, answeringCount: 1, silentCount: 71)
        reading.cluster = .init(
            madeSnapshotCount: 72, provedSnapshotCount: 73, failedSnapshotCount: 74, sentMessageCount: 75,
            receivedMessageCount: 76)
        reading.databases.deadLetterCount = 77
        let text = try parsed(reading)
        let names = [
            "open_databases", "writable_databases", "damaged_databases", "failed_databases", "connections",
            "waiting_bytes", "mailbox_events", "mailbox_bytes", "database_bytes", "wal_bytes",
            "lost_audit_events_total", "sessions", "subscriptions", "views", "log_versions", "consumers",
            "consumer_lag_versions", "event_lag_seconds_sum", "sent_pages_total", "sent_digests_total",
            "quota_refusals_total{quota=\"subscriptions\"}", "bootstrap_seconds_sum",
            "transactions_total{outcome=\"stored\"}", "commits_total", "changed_objects_total",
            "transactions_total{outcome=\"rejected\"}", "transactions_total{outcome=\"held_back\"}",
            "transactions_total{outcome=\"failed\"}", "subscription_starts_total{kind=\"current\"}",
            "subscription_starts_total{kind=\"replayed\"}", "subscription_starts_total{kind=\"equal\"}",
            "subscription_starts_total{kind=\"compared\"}", "subscription_starts_total{kind=\"anew\"}",
            "commit_seconds_sum{step=\"prepare\"}", "commit_seconds_sum{step=\"sync\"}",
            "commit_seconds_sum{step=\"publish\"}", "journal_append_seconds_sum",
            "journal_appends_total{outcome=\"appended\"}", "journal_appends_total{outcome=\"conflict\"}",
            "journal_appends_total{outcome=\"failed\"}", "journal_turns_total", "journal_epochs_total",
            "connections_total", "received_bytes_total", "sent_bytes_total", "received_messages_total",
            "sent_messages_total", "slow_connections_closed_total", "events_total", "turn_seconds_sum",
            "backups_total{outcome=\"made\"}", "backups_total{outcome=\"failed\"}", "last_backup_timestamp_seconds",
            "archived_groups_total", "archive_failures_total", "archive_lag_positions", "archive_lag_seconds",
            "journal_silence_seconds", "journal_lag_seconds", "journal_lag_positions", "silent_journals",
            "snapshots_total{outcome=\"made\"}", "snapshots_total{outcome=\"proved\"}",
            "snapshots_total{outcome=\"failed\"}", "relayed_messages_total{direction=\"sent\"}",
            "relayed_messages_total{direction=\"received\"}", "dead_letters",
        ]
        for (number, name) in names.enumerated() {
            #expect(text["sluice_server_\(name)"] == Double(number + 11), "\(name)")
        }
        // Those with labels of a closed list, and `ready`, are tested above.
        let tested = Set(names.map { "sluice_server_" + $0.split(separator: "{")[0].replacing("_sum", with: "") })
        let others = text.families.keys.filter { $0.hasPrefix("sluice_server_") && !tested.contains($0) }
        #expect(Set(others) == ["sluice_server_ready", "sluice_server_logins_total"])
    }

    @Test func guideListsEveryFamilyAndNoOther() throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let page = try String(contentsOfFile: "\(root)/docs/monitoring.md", encoding: .utf8)
        let cells = page.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { $0.split(separator: "|")[0] }
        let names = cells.flatMap { $0.split { "`, |".contains($0) } }.map(String.init)
        let listed = names.filter { name in
            ["sluice_server_", "sluice_build_", "process_"].contains { name.hasPrefix($0) }
        }
        #expect(try Set(listed) == Set(parsed(ServerReading()).families.keys))
        #expect(listed.count == Set(listed).count)
    }

    @Test func processIsThisOne() throws {
        let text = try parsed(ServerReading())
        #expect(try #require(text["process_resident_memory_bytes"]) > 1_000_000)
        #expect(try #require(text["process_virtual_memory_bytes"]) > 1_000_000)
        #expect(try #require(text["process_open_fds"]) >= 3)
        #expect(try #require(text["process_max_fds"]) >= text["process_open_fds"] ?? 0)
        #expect(try #require(text["process_start_time_seconds"]) > 1_700_000_000)
        #expect(try #require(text["process_cpu_seconds_total"]) > 0)
    }

    @Test(arguments: [
        "x 1\n", "# HELP x A.\nx 1\n", "# HELP x A.\n# TYPE x gauge\nx 1", "# HELP x A.\n# TYPE x gauge\n",
        "# HELP x A.\n# TYPE x gauge\nx 1\nx 2\n", "# HELP x A.\n# TYPE x gauge\ny 1\n",
        "# HELP x A.\n# TYPE x gauge\nx{a=1} 1\n", "# HELP x A.\n# TYPE x gauge\nx{a=\"\\x\"} 1\n",
        "# HELP x A.\n# TYPE x counter\nx 1\n", "# HELP x A.\n# TYPE x gauge\nx one\n",
        "# HELP x A.\n# TYPE x histogram\nx_bucket{le=\"1\"} 2\nx_bucket{le=\"+Inf\"} 1\nx_sum 1\nx_count 1\n",
        "# HELP x A.\n# TYPE x histogram\nx_bucket{le=\"1\"} 1\nx_sum 1\nx_count 1\n",
    ])
    func parserRefusesWhatACollectorWould(text: String) {
        #expect(throws: PrometheusText.Failure.self) { try PrometheusText(text) }
    }

    // MARK: Running servers

    @Test func listenerOfItsOwnAnswersWithTheNumbersOfTheServer() async throws {
        var configuration = ServerConfiguration(port: 0, isDevelopment: true)
        configuration.metricsListen = .init(port: 0)
        let server = try SyncServer(configuration)
        let port = try server.start()
        let metricsPort = try #require(server.metricsPort)
        #expect(metricsPort != port)
        _ = try await server.access(to: "shop").perform { $0.schema.classes.count }
        let answer = try await HTTPAnswer.get("/metrics", port: metricsPort, host: "localhost:\(metricsPort)")
        #expect(answer.status == 200)
        #expect(answer.headers.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8"))
        let text = try PrometheusText(answer.body)
        #expect(text["sluice_server_open_databases"] == 1)
        #expect(text["sluice_server_writable_databases"] == 1)
        #expect(text["sluice_server_ready"] == 1)
        #expect(!answer.body.contains("shop"))
        #expect(try await HTTPAnswer.get("/health/live", port: metricsPort).status == 404)
        #expect(try await HTTPAnswer.get("/metrics", port: metricsPort, method: "POST").status == 405)
        #expect(try await HTTPAnswer.get("/metrics", port: metricsPort, host: "evil.example").status == 421)
        await server.stop()
        #expect(server.metricsPort == nil)
        await #expect(throws: Failure.self) { try await HTTPAnswer.get("/metrics", port: metricsPort) }
    }

    @Test func metricsOfADevelopmentServerAreForThisMachine() throws {
        var configuration = ServerConfiguration(port: 0, isDevelopment: true)
        configuration.metricsListen = .init(host: "0.0.0.0", port: 0)
        #expect {
            try SyncServer(configuration)
        } throws: { error in "\(error)".contains("listen for them at 127.0.0.1") }
    }

    /// A busy database does not keep its server from saying what it knows.
    @Test func databaseThatIsBusyCountsAsItLastWas() async throws {
        let server = try SyncServer(ServerConfiguration(port: 0, isDevelopment: true))
        let worker = try server.access(to: "shop").worker
        _ = try await worker.perform { engine, _ in engine.committer.counts.groupCount }
        _ = await server.metricsText()
        #expect(worker.latestSample.isOpen)
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let gate = DispatchSemaphore(value: 0)
        let busy = Task {
            try await worker.perform { _, _ in
                begin.finish()
                // Blocks the queue, as a journal that does not answer may.
                gate.wait()
            }
        }
        for await _ in begun {}
        #expect(try PrometheusText(await server.metricsText())["sluice_server_open_databases"] == 1)
        gate.signal()
        try await busy.value
        await server.stop()
    }
}
