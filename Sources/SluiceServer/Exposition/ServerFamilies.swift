internal import SluiceModel

/// The families of numbers that a server shows, all of them from the start. No label has values that a client chooses:
/// names of databases and users are none.
enum ServerFamilies {
    static func make(_ reading: ServerReading) -> [MetricFamily] {
        [buildInfo] + state(reading) + work(reading) + times(reading) + journal(reading) + backups(reading.backups)
            + ProcessFamilies.make()
    }

    private static var buildInfo: MetricFamily {
        var family = MetricFamily("sluice_build_info", .gauge, "1; the label says which version this is.")
        family.add(1, ("version", SluiceRelease.version))
        return family
    }

    private static func gauge(_ name: String, _ help: String, _ value: Double) -> MetricFamily {
        var family = MetricFamily("sluice_server_\(name)", .gauge, help)
        family.add(value)
        return family
    }

    private static func counter(_ name: String, _ help: String, _ value: UInt64) -> MetricFamily {
        var family = MetricFamily("sluice_server_\(name)_total", .counter, help)
        family.add(Double(value))
        return family
    }

    private static func counter(
        _ name: String, _ help: String, by label: String, _ values: [(String, UInt64)]
    ) -> MetricFamily {
        var family = MetricFamily("sluice_server_\(name)_total", .counter, help)
        for (value, count) in values { family.add(Double(count), (label, value)) }
        return family
    }

    // MARK: What there is

    private static func state(_ reading: ServerReading) -> [MetricFamily] {
        let (health, databases) = (reading.health, reading.databases)
        return [
            gauge("ready", "Whether /health/ready says so: 1 or 0.", health.isReady ? 1 : 0),
            gauge("connections", "Open connections of clients.", Double(reading.connectionCount)),
            gauge("sessions", "Open sessions.", Double(databases.sessionCount)),
            gauge("subscriptions", "Subscriptions of all sessions.", Double(databases.subscriptionCount)),
            gauge("views", "Live views, each of which serves all who ask the same.", Double(databases.viewCount)),
            gauge("mailbox_events", "Messages and other events that wait.", Double(reading.mailboxEventCount)),
            gauge("mailbox_bytes", "What they take, about.", Double(reading.mailboxByteCount)),
            gauge("waiting_bytes", "Bytes that wait for clients to take them.", Double(reading.waitingByteCount)),
            gauge("open_databases", "Open databases.", Double(health.openCount)),
            gauge("writable_databases", "Open databases that can be written.", Double(health.writableCount)),
            gauge("damaged_databases", "Open databases with damaged files.", Double(health.damagedCount)),
            gauge("failed_databases", "Databases that could not be opened.", Double(health.failedCount)),
            gauge("database_bytes", "Size of the open databases' files.", Double(reading.databaseByteCount)),
            gauge("wal_bytes", "Size of their write-ahead logs.", Double(reading.walByteCount)),
            gauge(
                "log_versions", "Versions that the open databases keep for clients that come back.",
                Double(databases.logVersionCount)),
            gauge("consumers", "Consumers of the open databases.", Double(databases.consumerCount)),
            gauge(
                "consumer_lag_versions", "Versions that the consumer which is farthest behind has not looked at.",
                Double(databases.consumerLag)),
            gauge(
                "dead_letters", "Objects and rows that consumers and queues have given up.",
                Double(databases.deadLetterCount)),
        ]
    }

    // MARK: What it has done

    private static func work(_ reading: ServerReading) -> [MetricFamily] {
        let (counts, statistics) = (reading.counts, reading.databases.statistics)
        let commits = statistics.commits
        var logins = MetricFamily("sluice_server_logins_total", .counter, "Logins.")
        for method in ServerLoginMethod.allCases {
            let count = counts.logins[method] ?? (0, 0)
            logins.add(Double(count.accepted), ("method", method.rawValue), ("outcome", "accepted"))
            logins.add(Double(count.refused), ("method", method.rawValue), ("outcome", "refused"))
        }
        return [
            counter("connections", "Connections of clients that were accepted.", counts.connectionCount),
            counter("received_messages", "Messages of clients.", counts.receivedMessageCount),
            counter("received_bytes", "Their bytes.", counts.receivedByteCount),
            counter("sent_messages", "Messages to clients.", counts.sentMessageCount),
            counter("sent_bytes", "Their bytes.", counts.sentByteCount),
            counter("events", "Messages and other events that databases handled.", counts.eventCount),
            counter(
                "transactions", "Uploaded transactions; one that is held back or failed comes again.", by: "outcome",
                [
                    ("stored", commits.commitCount), ("rejected", commits.rejectedChangesetCount),
                    ("held_back", commits.heldBackCount), ("failed", commits.failedCount),
                ]),
            counter("commits", "Groups of transactions that were stored together.", commits.groupCount),
            counter("changed_objects", "Objects that commits have changed.", commits.changedObjectCount),
            counter(
                "subscription_starts", "Subscriptions by how they began.", by: "kind",
                StartCounts.Path.allCases.map { ($0.name, statistics.starts[$0]) }),
            counter("sent_pages", "Pages that were sent to subscriptions.", statistics.sentPageCount),
            counter("sent_digests", "Digests that were sent to running sessions.", statistics.sentDigestCount),
            counter(
                "quota_refusals", "Clients that were refused something, or had to wait, because of a quota.",
                by: "quota",
                ServerQuota.allCases.map { ($0.rawValue, counts.quotas[$0] ?? 0) }
                    + [("subscriptions", statistics.refusedSubscriptionCount)]), logins,
            counter(
                "slow_connections_closed", "Connections that were closed because their clients were too slow.",
                counts.slowCount),
            counter(
                "lost_audit_events", "Events of the audit log that could not be written.",
                reading.lostAuditEventCount),
        ]
    }

    private static func times(_ reading: ServerReading) -> [MetricFamily] {
        let times = reading.databases.statistics.times
        var commits = MetricFamily(
            "sluice_server_commit_seconds", .histogram,
            "Steps of commits: merging, storing durably, and working out what is sent to whom.")
        commits.add(times.prepare, ("step", "prepare"))
        commits.add(times.sync, ("step", "sync"))
        commits.add(times.publish, ("step", "publish"))
        return [
            commits,
            histogram(
                "event_lag_seconds",
                "From the arrival of a turn's oldest message to the connections having the events of its transactions.",
                reading.databases.eventLag),
            histogram(
                "bootstrap_seconds", "From the request for a subscription to its last page.",
                reading.databases.statistics.bootstraps),
            histogram("turn_seconds", "Turns of databases.", reading.counts.turns),
        ]
    }

    private static func histogram(_ name: String, _ help: String, _ value: DurationHistogram) -> MetricFamily {
        var family = MetricFamily("sluice_server_\(name)", .histogram, help)
        family.add(value)
        return family
    }

    // MARK: Backups

    private static func backups(_ reading: BackupService.Reading) -> [MetricFamily] {
        [
            counter(
                "backups", "Backups that the server has made by itself, or could not make.", by: "outcome",
                [("made", reading.backups.madeCount), ("failed", reading.backups.failedCount)]),
            gauge(
                "last_backup_timestamp_seconds", "When the newest backup was begun, since 1970; 0 without one.",
                Double(reading.backups.latest?.microseconds ?? 0) / 1_000_000),
            counter("archived_groups", "Groups that were appended to the archive.", reading.archivedGroupCount),
            counter(
                "archive_failures", "Looks at which the archive could not be brought up to date.",
                reading.failedArchivingCount),
            gauge(
                "archive_lag_positions", "Groups that the archive lacks of the open database furthest ahead of it.",
                Double(reading.archiveLagPositions)),
            gauge(
                "archive_lag_seconds", "For how long the archive has not been seen to have everything.",
                Double(reading.archiveLag) / 1_000_000),
        ]
    }

    // MARK: A journal that several servers share

    private static func journal(_ reading: ServerReading) -> [MetricFamily] {
        let times = reading.databases.statistics.times
        let journals = reading.health.journals ?? ServerHealth.Journals()
        return [
            counter(
                "journal_appends", "Groups that were to be appended to a shared journal.", by: "outcome",
                [
                    ("appended", times.appendedCount), ("conflict", times.conflictCount),
                    ("failed", times.failedAppendCount),
                ]),
            histogram("journal_append_seconds", "Appends to a shared journal.", times.append),
            counter("journal_turns", "Turns that were taken at a shared journal.", times.turnCount),
            counter("journal_epochs", "Epochs that this server has begun.", times.epochCount),
            counter(
                "snapshots", "Snapshots for new replicas that this server was to make.", by: "outcome",
                [
                    ("made", reading.cluster.madeSnapshotCount), ("proved", reading.cluster.provedSnapshotCount),
                    ("failed", reading.cluster.failedSnapshotCount),
                ]),
            counter(
                "relayed_messages", "Ephemeral messages between this server and others.", by: "direction",
                [("sent", reading.cluster.sentMessageCount), ("received", reading.cluster.receivedMessageCount)]),
            gauge("silent_journals", "Open databases whose journal does not answer.", Double(journals.silentCount)),
            gauge(
                "journal_silence_seconds", "For how long the journals' server has not answered.",
                Double(journals.silenceMilliseconds) / 1_000),
            gauge(
                "journal_lag_positions", "Groups that the database furthest behind lacks.",
                Double(journals.lagPositions)),
            gauge(
                "journal_lag_seconds", "For how long the database furthest behind has been so.",
                Double(journals.lagMilliseconds) / 1_000),
        ]
    }
}

extension StartCounts.Path {
    fileprivate var name: String {
        switch self {
        case .current: "current"
        case .replayed: "replayed"
        case .equal: "equal"
        case .compared: "compared"
        case .anew: "anew"
        }
    }
}
