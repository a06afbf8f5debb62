/// `sluice cluster`: makes the tables of a cluster, says how it is, and brings databases in and out.
struct ClusterCommand: Command {
    static let description = CommandDescription(
        "cluster", "Set up a cluster of servers on a PostgreSQL, see how it is, and bring databases in and out.",
        arguments: [
            ArgumentDescription(
                "ACTION", Action.allCases.map(\.rawValue).joined(separator: ", "),
                completion: .choices(Action.allCases.map(\.rawValue))),
            ArgumentDescription(
                "DATABASE", "the database (verify, snapshot); one, or several with commas between (detach, epoch)",
                isOptional: true),
        ],
        options: [
            .value("journal", "URL", "postgres://USER@HOST/DATABASE, or file:PATH of a file with it"),
            .value(
                "data", "DIR", "the data folder of a server that does not run (adopt, detach)", completion: .directories
            ),
            .value(
                "to", "DIR", "where the files go; the data folder itself by default (detach)", completion: .directories),
            .flag("offline", "from the replicas as they are, without PostgreSQL (detach)"),
            .flag("again", "also what was detached before into another folder, where it is lost (detach)"),
            .flag("print", "print the SQL for an administrator, and connect to nothing (init)"),
            .value("role", "NAME", "the role of the nodes, which gets the rights that it needs (init)"),
            .choice("format", Format.allCases.map(\.rawValue), "text or json; text by default (status)"),
        ],
        notes: [
            "init makes the tables, or brings older ones to the present version, and with --role gives the role of the nodes its rights. With --print it prints SQL that does the same, and that can be run again. Then each 'sluice serve --journal=URL' is a node of the cluster. The password comes from PGPASSFILE, PGPASSWORD or the file of file:PATH.",
            "adopt makes the databases of a stopped server the cluster's, and its data folder that of a node. detach is the way back: it ends the journals of all databases, or of those that are named, and leaves their files to a server alone.",
            "verify has all nodes compare their replicas at one position, and fails if they differ. snapshot has a node make a snapshot, and waits until it is proved. epoch says that the present PostgreSQL is the right one after a restore or a change of primaries that nodes refuse.",
        ],
        examples: [
            "sluice cluster init --journal=postgres://sluice@db.example/sluice",
            "sluice cluster init --print --role=sluice",
            "sluice cluster status --journal=postgres://sluice@db.example/sluice --format=json",
            "sluice cluster adopt --journal=postgres://sluice@db.example/sluice --data=/var/lib/sluice",
            "sluice cluster verify shop --journal=postgres://sluice@db.example/sluice",
        ])

    enum Action: String, CaseIterable {
        case initialize = "init"
        case status, adopt, detach, verify, snapshot, epoch
    }

    enum Format: String, CaseIterable {
        case text, json
    }

    private let action: ClusterAction

    init(_ arguments: ParsedArguments) throws(CommandError) {
        // The parser takes no other.
        guard let action = Action(rawValue: arguments.positionals[0]) else { throw .usage("ACTION is missing") }
        try Self.check(arguments, for: action)
        self.action = try ClusterAction(action, arguments)
    }

    /// Refuses options that belong to other actions.
    private static func check(_ arguments: ParsedArguments, for action: Action) throws(CommandError) {
        let owners: [(option: String, actions: [Action])] = [
            ("print", [.initialize]), ("role", [.initialize]), ("format", [.status]), ("data", [.adopt, .detach]),
            ("to", [.detach]), ("offline", [.detach]), ("again", [.detach]),
        ]
        for (option, actions) in owners where !actions.contains(action) && arguments.has(option) {
            let names = actions.map { "'sluice cluster \($0.rawValue)'" }.joined(separator: " and ")
            throw .usage("--\(option) is for \(names)")
        }
        if arguments.positionals.count > 1, [.initialize, .status, .adopt].contains(action) {
            throw .usage("'sluice cluster \(action.rawValue)' is about all databases; leave the name out")
        }
        let needsNoJournal = arguments.flag("print") || arguments.flag("offline")
        if !arguments.has("journal"), !needsNoJournal {
            throw .usage("--journal=URL is missing: the cluster's PostgreSQL, such as postgres://sluice@host/sluice")
        }
        if arguments.has("journal"), arguments.flag("offline") {
            throw .usage("--offline does without PostgreSQL; leave --journal out, or --offline")
        }
        if arguments.flag("again"), arguments.flag("offline") {
            throw .usage("--offline does not know what was detached before; leave --again out")
        }
    }

    func run() async throws { try action.run() }
}
