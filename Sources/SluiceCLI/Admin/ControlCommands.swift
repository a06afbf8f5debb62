internal import SluiceExchange
internal import SluiceJSON
internal import SluiceModel

/// `sluice reload`: has a server read its settings again.
struct ReloadCommand: Command {
    static let description = CommandDescription(
        "reload", "Have a server on this machine read its settings, rules and certificate again, as SIGHUP does.",
        options: AdminClient.options,
        notes: [
            "It says what has changed, and what holds only after a restart. If something is wrong with the settings, the exit code is 1, and those before hold."
        ],
        examples: ["sluice reload --data=./data"])

    private let client: AdminClient

    init(_ arguments: ParsedArguments) throws(CommandError) { client = try AdminClient(arguments) }

    func run() async throws { try ReportPrinter.print(try await client.ask("POST", "/reload"), format: .table) }
}

/// `sluice drain`: has a server tell balancers to send no further stores.
struct DrainCommand: Command {
    static let description = CommandDescription(
        "drain", "Have /health/ready of a server on this machine say 503 until it stops; it serves on.",
        options: AdminClient.options, examples: ["sluice drain --data=./data"])

    private let client: AdminClient

    init(_ arguments: ParsedArguments) throws(CommandError) { client = try AdminClient(arguments) }

    func run() async throws {
        _ = try await client.ask("POST", "/drain")
        StandardOutput.shared.write(line: "draining")
    }
}

/// `sluice log-level`: says or changes what a server logs.
struct LogLevelCommand: Command {
    static let description = CommandDescription(
        "log-level", "Print or change the log levels of a server on this machine, until it reads its settings again.",
        arguments: [
            ArgumentDescription(
                "LEVEL", "the lowest level that is logged", completion: .choices(LogLevel.allCases.map(\.rawValue)),
                isOptional: true)
        ],
        options: AdminClient.options + [
            .value(
                "log-domains", LogDomains.placeholder, "levels of single domains, such as network=warning,login=off")
        ],
        examples: [
            "sluice log-level --data=./data", "sluice log-level debug --data=./data --log-domains=network=warning",
        ])

    private let client: AdminClient
    private let level: String?
    private let domains: [(domain: String, level: String)]?

    init(_ arguments: ParsedArguments) throws(CommandError) {
        client = try AdminClient(arguments)
        level = arguments.positionals.first
        domains = try arguments.value("log-domains").map { text throws(CommandError) in
            _ = try LogDomains.parse(text)
            return try LogDomains.names(text)
        }
    }

    func run() async throws {
        guard level != nil || domains != nil else {
            return try ReportPrinter.print(try await client.ask("GET", "/log-level"), format: .table)
        }
        try ReportPrinter.print(try await client.ask("POST", "/log-level", request), format: .table)
    }

    /// What is asked for, as JSON. What is not named stays.
    var request: String {
        var members: [JSONValue.Member] = []
        if let level { members.append(.init(name: "level", value: .string(level))) }
        if let domains {
            let levels = domains.map { JSONValue.Member(name: $0.domain, value: .string($0.level)) }
            members.append(.init(name: "domains", value: .object(levels)))
        }
        return JSONValue.object(members).text
    }
}
