internal import Sluice

/// `sluice status`: prints the server's status of a database.
struct StatusCommand: Command {
    static let description = CommandDescription(
        "status", "Print the status of a database: version, classes with counts, sessions, commits.",
        arguments: [ServerAccess.argument], options: [OutputFormat.option] + ServerAccess.options,
        notes: [
            "The exit code is 1 if the database is damaged; what is printed says how, and counts what can be read."
        ],
        examples: ["sluice status ws://127.0.0.1:9080/nyc", "sluice status ws://127.0.0.1:9080/nyc --format=jsonl"])

    private let access: ServerAccess
    private let format: OutputFormat

    init(_ arguments: ParsedArguments) throws(CommandError) {
        access = try ServerAccess(arguments)
        format = try OutputFormat.chosen(arguments)
    }

    func run() async throws {
        Signals.exitQuietly()
        let store = try await access.open()
        let report = try await store.core.report(.status, timeout: access.timeout)
        try ReportPrinter.print(report, format: format)
        await store.close()
        // The exit code tells scripts, which do not read the text.
        if let damage = ReportPrinter.text("damage", of: report), !damage.isEmpty { throw CommandError.failure(damage) }
    }
}

/// `sluice subscriptions`: prints the queries that clients observe.
struct SubscriptionsCommand: Command {
    static let description = CommandDescription(
        "subscriptions", "Print the queries that clients observe on a database, and how many do.",
        arguments: [ServerAccess.argument], options: [OutputFormat.option] + ServerAccess.options,
        examples: ["sluice subscriptions ws://127.0.0.1:9080/nyc"])

    private let access: ServerAccess
    private let format: OutputFormat

    init(_ arguments: ParsedArguments) throws(CommandError) {
        access = try ServerAccess(arguments)
        format = try OutputFormat.chosen(arguments)
    }

    func run() async throws {
        Signals.exitQuietly()
        let store = try await access.open()
        try ReportPrinter.print(try await store.core.report(.subscriptions, timeout: access.timeout), format: format)
        await store.close()
    }
}
