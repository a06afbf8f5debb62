internal import SluiceServer

/// `sluice databases`: lists, restricts and deletes the databases of a server, while it runs or not.
struct DatabasesCommand: Command {
    static let description = CommandDescription(
        "databases", "Manage the databases of a server: list, restrict, delete.",
        arguments: [
            ArgumentDescription(
                "ACTION", "list, restrict or delete", completion: .choices(Action.allCases.map(\.rawValue))),
            ArgumentDescription("NAME", "the database (delete)", isOptional: true),
        ],
        options: [
            .value("data", "DIR", "the folder of the server's databases", completion: .directories),
            .value("only", "NAME,…", "the databases that clients may open (restrict)"),
            .flag("existing", "clients make no further database (restrict)"),
            .flag("any", "clients may open any database again, and make others (restrict)"),
            .flag("force", "also while somebody uses it; the sessions are ended (delete)"),
            OutputFormat.option,
        ] + AuditOptions.options,
        notes: [
            "The server may run meanwhile. list says how each database is, how many transactions, rules, classes and objects it has, and its size on disk. A server that runs says how it is: open, closed (nobody uses it), damaged (takes no writes), unwritable (its disk is full or cannot be written), silent (its journal does not answer) or failed (it could not be opened; the log has the reason). restrict holds at once and after the next start; sessions of databases that clients may no longer open are ended.",
            "delete removes all of a database, or nothing. Without --force it refuses one that the server has open, which is one that somebody has used within a minute. Stores that come back find a new database of the name, unless restrict keeps them out.",
        ],
        examples: [
            "sluice databases list --data=./data", "sluice databases restrict --data=./data --only=nyc,app",
            "sluice databases restrict --data=./data --existing",
            "sluice databases delete old --data=./data --force",
        ])

    private enum Action: String, CaseIterable {
        case list, restrict, delete
    }

    private let action: DatabasesAction
    private let folder: DatabaseFolder
    private let audit: AuditFile?

    init(_ arguments: ParsedArguments) throws(CommandError) {
        guard let action = Action(rawValue: arguments.positionals[0]) else {
            throw .usage("the action is list, restrict or delete")
        }
        guard let path = arguments.value("data") else {
            throw .usage("--data=DIR is missing: the folder of the server's databases")
        }
        let users: [(String, Action)] = [
            ("only", .restrict), ("existing", .restrict), ("any", .restrict), ("force", .delete), ("format", .list),
        ]
        for (name, user) in users where arguments.has(name) && action != user {
            throw .usage("databases \(action.rawValue) takes no --\(name)")
        }
        let name = arguments.positionals.count > 1 ? arguments.positionals[1] : nil
        if let name, action != .delete {
            throw .usage("databases \(action.rawValue) takes no name, and '\(DisplayText.shortened(name))' is one")
        }
        switch action {
        case .list: self.action = .list(try OutputFormat.chosen(arguments))
        case .restrict: self.action = .restrict(try Self.restriction(arguments))
        case .delete:
            guard let name else { throw .usage("NAME is missing: the database to delete") }
            self.action = .delete(try Self.valid(name), isForced: arguments.flag("force"))
        }
        do throws(ServerError) { folder = try DatabaseFolder(path) } catch { throw .failure(error.message) }
        audit = try AuditOptions.file(arguments)
    }

    private static func valid(_ name: String) throws(CommandError) -> String {
        guard DatabaseName.isValid(name) else {
            throw .usage(
                "'\(DisplayText.shortened(name))' is no name of a database; it has 1 to 64 letters, digits, '_' and '-'"
            )
        }
        return name
    }

    private static func restriction(_ arguments: ParsedArguments) throws(CommandError) -> DatabaseRestriction {
        var restriction = DatabaseRestriction()
        if let list = arguments.value("only") {
            var names: Set<String> = []
            for name in list.split(separator: ",") { names.insert(try valid(String(name))) }
            restriction.names = names
        }
        restriction.allowsNew = !arguments.flag("existing")
        guard arguments.flag("any") != (restriction != DatabaseRestriction()) else {
            throw .usage("say which databases clients may open: --only=NAME,…, --existing, or both; or --any")
        }
        return restriction
    }

    func run() async throws { try await action.run(in: folder, audit) }
}
