#if PostgreSQL
    internal import SluicePostgres
#endif

/// `sluice cluster`: makes the tables of a cluster, and says how it is.
struct ClusterCommand: Command {
    static let description = CommandDescription(
        "cluster", "Set up a cluster of servers on a PostgreSQL, and see how it is: init, status.",
        arguments: [
            ArgumentDescription(
                "ACTION", "init or status", completion: .choices(Action.allCases.map(\.rawValue)))
        ],
        options: [
            .value("journal", "URL", "postgres://USER@HOST/DATABASE, or file:PATH of a file with it"),
            .flag("print", "print the SQL for an administrator, and connect to nothing (init)"),
            .value("role", "NAME", "with --print: the role of the nodes, if the tables are another's (init)"),
            .choice("format", Format.allCases.map(\.rawValue), "text or json; text by default (status)"),
        ],
        notes: [
            "The password comes from PGPASSFILE, PGPASSWORD or the file of file:PATH. init does nothing if the tables are there, and brings older ones to the present version. Then each 'sluice serve --journal=URL' is a node of the cluster."
        ],
        examples: [
            "sluice cluster init --journal=postgres://sluice@db.example/sluice",
            "sluice cluster init --print --role=sluice",
            "sluice cluster status --journal=postgres://sluice@db.example/sluice --format=json",
        ])

    private enum Action: String, CaseIterable {
        case initialize = "init"
        case status
    }

    private enum Format: String, CaseIterable {
        case text, json
    }

    private let action: Action
    private let url: String?
    private let printsSQL: Bool
    private let role: String?
    private let format: Format

    init(_ arguments: ParsedArguments) throws(CommandError) {
        guard let action = Action(rawValue: arguments.positionals[0]) else {
            throw .usage(
                "the action is init or status, and not '\(DisplayText.shortened(arguments.positionals[0]))'")
        }
        self.action = action
        url = arguments.value("journal")
        printsSQL = arguments.flag("print")
        role = arguments.value("role")
        format = try arguments.choice("format", as: Format.self) ?? .text
        if printsSQL, action != .initialize { throw .usage("--print is for 'sluice cluster init'") }
        if role != nil, !printsSQL { throw .usage("--role belongs to --print; init gives no rights to others") }
        if url == nil, !printsSQL {
            throw .usage("--journal=URL is missing: the cluster's PostgreSQL, such as postgres://sluice@host/sluice")
        }
    }

    func run() async throws {
        #if PostgreSQL
            switch action {
            case .initialize where printsSQL:
                StandardOutput.shared.write(line: PostgresCluster.sql(role: role).dropLast())
            case .initialize:
                let script = try PostgresCluster.initialize(url ?? "")
                StandardOutput.shared.write(
                    line: script.isEmpty ? "the cluster's tables are there" : "the cluster's tables were made")
            case .status:
                let status = try PostgresCluster.status(url ?? "")
                StandardOutput.shared.write(line: (format == .json ? status.json : status.text).dropLast())
            }
        #else
            throw CommandError.failure(JournalOptions.missingTrait)
        #endif
    }
}
