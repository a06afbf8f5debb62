internal import Sluice
internal import SluiceExchange
internal import SluiceJSON

/// `sluice top`: shows which live queries cost a server most.
struct TopCommand: Command {
    static let description = CommandDescription(
        "top", "Show which live queries cost a server most: of one database, or of all on this machine.",
        arguments: [
            ArgumentDescription("URL", "the database: ws://HOST:PORT/DATABASE, or wss:// for TLS", isOptional: true)
        ],
        options: [
            AdminClient.dataOption,
            .value("interval", "TIME", "how long to count before the table is shown anew", default: "2s"),
            .flag("once", "print the counts since the queries were first observed, and end; so it does off a terminal"),
            OutputFormat.option,
        ] + ServerAccess.options,
        notes: [
            "found: commits that concern the query. changed: commits that changed its results. bytes: what its subscribers were sent, without frames. ms: what commits took for it on the database's thread. bootstraps: subscriptions that were brought up to date by pages, and the time from request to last page.",
            "A URL needs the right 'reports'; --data needs the user of the server, or root.",
        ],
        examples: ["sluice top ws://127.0.0.1:9080/nyc", "sluice top --data=./data --once --format=jsonl"])

    private enum Source: Sendable {
        case database(ServerAccess)
        case machine(AdminClient)
    }

    private let source: Source
    private let interval: Duration
    private let isOnce: Bool
    private let format: OutputFormat

    init(_ arguments: ParsedArguments) throws(CommandError) {
        guard arguments.positionals.isEmpty == arguments.has("data") else {
            throw .usage("name the database as URL, or the server's folder with --data=DIR; one of them")
        }
        source =
            arguments.positionals.isEmpty
            ? .machine(try AdminClient(arguments)) : .database(try ServerAccess(arguments))
        interval = try arguments.duration("interval") ?? .seconds(2)
        format = try OutputFormat.chosen(arguments)
        isOnce = arguments.flag("once") || !Terminal.isOutput || format == .jsonl
    }

    func run() async throws {
        Signals.exitQuietly()
        switch source {
        case .machine(let client):
            try await show { [try Self.parsed(try await client.ask("GET", "/top"))].flatMap { $0.array ?? [] } }
        case .database(let access):
            let store = try await access.open()
            try await show { [try Self.parsed(try await store.core.report(.top, timeout: access.timeout))] }
            await store.close()
        }
    }

    private static func parsed(_ text: String) throws -> JSONValue {
        do { return try JSONParser.parse(text) } catch {
            throw CommandError.failure("the server's report is not JSON at byte \(error.position): \(error.message)")
        }
    }

    private func show(_ ask: @escaping () async throws -> [JSONValue]) async throws {
        guard !isOnce else {
            let reports = try await ask()
            return print(reports, try TopSample(reports))
        }
        let begin = ContinuousClock.now
        let screen = TopScreen(
            ask: ask,
            pause: {
                try await Task.sleep(for: interval)
                return true
            }, seconds: { (.now - begin) / .seconds(1) },
            show: { lines in
                StandardOutput.shared.write(text: "\u{1B}[H\u{1B}[J" + lines.map { $0 + "\n" }.joined())
            })
        try await screen.run()
    }

    private func print(_ reports: [JSONValue], _ sample: TopSample) {
        let lines =
            format == .table
            ? TopTable(rowCountMax: .max).lines(sample.since(TopSample()), seconds: nil) : Self.jsonLines(reports)
        for line in lines { StandardOutput.shared.append(Array((line + "\n").utf8)) }
        StandardOutput.shared.flush()
    }

    /// A line for each query, with its database.
    static func jsonLines(_ reports: [JSONValue]) -> [String] {
        reports.flatMap { report -> [String] in
            let database = JSONValue.Member(name: "database", value: report["database"] ?? .null)
            return (report["queries"]?.array ?? []).map { query in
                guard case .object(let members) = query else { return query.text }
                return JSONValue.object([database] + members).text
            }
        }
    }
}
