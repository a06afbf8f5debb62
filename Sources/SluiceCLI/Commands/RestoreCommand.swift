internal import SluiceModel
internal import SluiceServer
internal import SluiceStorage

/// `sluice restore`: makes a data folder of a backup.
struct RestoreCommand: Command {
    static let description = CommandDescription(
        "restore", "Make a data folder of a backup, and of an archive up to a time or version.",
        arguments: [ArgumentDescription("FILE", "the backup", completion: .files)],
        options: [
            .value(
                "data", "DIR", "the data folder to make; nothing is there, or an empty folder", completion: .directories
            ),
            .value("database", "NAME", "only this database; repeat it for several; all by default", isRepeatable: true),
            .value(
                "archive", "DIR", "the archive of the server, whose groups are applied to the backup",
                completion: .directories),
            .value(
                "until", "TIME|VERSION",
                "with --archive: up to when, such as 2026-11-27T10:00:00Z, or up to which version of the one database; all by default"
            ),
        ],
        notes: [
            "The folder appears whole or not at all. Start a server with it: stores that have seen later versions fetch everything again, and send what that server has not acknowledged. Users are as they were when the backup was made."
        ],
        examples: [
            "sluice restore /backup/sluice.backup --data=/var/lib/sluice-restored",
            "sluice restore /backup/sluice.backup --archive=/archive --until=2026-11-27T10:00:00Z --data=/var/lib/sluice-restored",
            "sluice restore /backup/sluice.backup --archive=/archive --database=shop --until=4711 --data=/tmp/shop",
        ])

    private let backup: String
    private let target: String
    private let names: [String]?
    private let archive: String?
    private let wanted: ArchiveTarget

    init(_ arguments: ParsedArguments) throws(CommandError) {
        backup = arguments.positionals[0]
        guard let target = arguments.value("data") else {
            throw .usage("--data=DIR is missing: the data folder to make")
        }
        self.target = target
        let names = arguments.values("database")
        self.names = names.isEmpty ? nil : names
        archive = arguments.value("archive")
        wanted = try arguments.value("until").map { text throws(CommandError) in try Self.target(text, names) } ?? .end
        if arguments.has("until"), archive == nil {
            throw .usage("--until needs the archive; name its folder with --archive=DIR")
        }
    }

    /// Reads what `--until` says.
    private static func target(_ text: String, _ names: [String]) throws(CommandError) -> ArchiveTarget {
        if let version = UInt64(text), version <= UInt64(Int64.max) {
            guard names.count == 1 else {
                throw .usage(
                    "--until=\(text) is a version, which one database has; name it with --database=NAME, or give a time"
                )
            }
            return .version(version)
        }
        // A time without a zone would be another one than was meant, where the clock shows local time.
        guard text.contains(where: { "Tt".contains($0) }),
            text.last.map({ "Zz".contains($0) }) ?? false || hasOffset(text),
            let time = Timestamp(iso8601: text)
        else {
            throw .usage(
                "--until is a time with its zone, such as 2026-11-27T10:00:00Z or 2026-11-27T11:00:00+01:00, or a version, "
                    + "and '\(DisplayText.shortened(text))' is neither")
        }
        return .time(time)
    }

    private static func hasOffset(_ text: String) -> Bool {
        guard let time = text.firstIndex(where: { "Tt".contains($0) }) else { return false }
        return text[time...].contains { "+-".contains($0) }
    }

    func run() async throws {
        let restoration = try Restoration(backup, to: target, of: names)
        try Signals.interruptible("nothing was restored") { isCancelled in
            try restoration.run(archive: archive, to: wanted, isCancelled: isCancelled) { restored in
                switch restored {
                case .database(let state, let count):
                    let more =
                        archive == nil
                        ? "" : "\t\(count) \(GroupedNumber.noun(Int(clamping: count), "group")) from the archive"
                    write("\(state.name)\tversion \(state.version)\tposition \(state.head.position)\(more)")
                case .users: write("users")
                }
            }
        }
        write("made \(DisplayText.harmless(target))")
    }

    private func write(_ line: String) { StandardOutput.shared.write(line: line) }
}
