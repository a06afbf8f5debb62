internal import SluiceServer

/// The options of `serve` that make backups and an archive.
enum BackupOptions {
    static let options: [OptionDescription] = [
        .value(
            "backup-to", "DIR", "the folder for backups that the server makes by itself",
            completion: .directories),
        .value("backup-every", "TIME", "the time from one of them to the next, such as 30m, 6h or 1d", default: "6h"),
        .value("backup-keep", "COUNT", "how many of them are kept", default: "28"),
        .value(
            "archive", "DIR",
            "the folder for a copy of all that is stored, each second, for 'sluice restore --until'",
            completion: .directories),
    ]

    /// Sets what the options say.
    static func apply(_ arguments: ParsedArguments, to configuration: inout ServerConfiguration) throws(CommandError) {
        configuration.archive = arguments.value("archive")
        guard let folder = arguments.value("backup-to") else {
            for name in ["backup-every", "backup-keep"] where arguments.has(name) {
                throw .usage("--\(name) is about backups that the server makes; name their folder with --backup-to=DIR")
            }
            return
        }
        var plan = ScheduledBackups(folder: folder)
        if let interval = try arguments.duration("backup-every") {
            guard interval >= .seconds(1) else {
                let text = arguments.value("backup-every") ?? ""
                throw .usage("--backup-every is a second or more, such as 30m, 6h or 1d, and '\(text)' is less")
            }
            plan.interval = interval
        }
        if let text = arguments.value("backup-keep") {
            guard let count = Int(text), count > 0 else {
                throw .usage("--backup-keep is a whole number above 0, and '\(text)' is none")
            }
            plan.keptCount = count
        }
        configuration.backups = plan
    }
}
