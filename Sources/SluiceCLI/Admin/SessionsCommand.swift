internal import SluiceExchange
internal import SluiceJSON

/// `sluice sessions`: prints the sessions of a server, and ends them.
struct SessionsCommand: Command {
    static let description = CommandDescription(
        "sessions",
        "Print the sessions of a server on this machine: user, address, since when, how far behind, what waits.",
        options: AdminClient.options + [
            .value("end", "ID", "end this session; its client opens another one, if its user may log in"),
            OutputFormat.option,
        ],
        notes: [
            "Whatever is committed is sent to every session at once. So a client lacks what is in waitingBytes, and in the subscriptions that are incomplete. versionLag: how many versions the database has made since the one of which everything has left for the client. Sessions that share a connection share what waits. What a database does not say that is busy for a second is null, and stderr names it."
        ],
        examples: ["sluice sessions --data=./data", "sluice sessions --data=./data --end=7.1"])

    private let client: AdminClient
    private let ended: String?
    private let format: OutputFormat

    init(_ arguments: ParsedArguments) throws(CommandError) {
        client = try AdminClient(arguments)
        ended = arguments.value("end")
        format = try OutputFormat.chosen(arguments)
    }

    func run() async throws {
        Signals.exitQuietly()
        guard let ended else {
            let answer = try await client.ask("GET", "/sessions")
            try ReportPrinter.print(answer, format: format)
            for database in Self.silentDatabases(in: answer) {
                Diagnostics.report("the database '\(database)' is too busy to say how its sessions are")
            }
            return
        }
        let request = JSONValue.object([.init(name: "session", value: .string(ended))])
        _ = try await client.ask("POST", "/sessions/end", request.text)
        StandardOutput.shared.write(line: "ended the session \(ended)")
    }

    /// The databases that have not said what their sessions have, sorted.
    static func silentDatabases(in answer: String) -> [String] {
        let sessions = (try? JSONParser.parse(answer))?.array ?? []
        return Set(sessions.filter { $0["subscriptions"] == .null }.compactMap { $0["database"]?.string }).sorted()
    }
}
