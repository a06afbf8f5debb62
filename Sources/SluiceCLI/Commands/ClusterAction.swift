internal import SluiceServer

#if PostgreSQL
    internal import SluicePostgres
    internal import SluiceStorage
#endif

/// What `sluice cluster` does, with all that it needs for that.
enum ClusterAction {
    case printSQL(role: String?)
    case initialize(String, role: String?)
    case status(String, ClusterCommand.Format)
    case adopt(String, folder: String)
    /// - journal: nil to do without.
    case detach(String?, folder: String, names: [String]?, target: String?, isMovedAgain: Bool)
    case verify(String, String)
    case snapshot(String, String)
    case epoch(String, names: [String]?)

    init(_ action: ClusterCommand.Action, _ arguments: ParsedArguments) throws(CommandError) {
        let journal = arguments.value("journal") ?? ""
        let name = arguments.positionals.count > 1 ? arguments.positionals[1] : nil
        let names = name?.split(separator: ",").map(String.init)
        if let wrong = names?.first(where: { !DatabaseName.isValid($0) }) {
            throw .usage("'\(DisplayText.shortened(wrong))' is no name of a database")
        }
        switch action {
        case .initialize where arguments.flag("print"): self = .printSQL(role: arguments.value("role"))
        case .initialize: self = .initialize(journal, role: arguments.value("role"))
        case .status: self = .status(journal, try arguments.choice("format", as: ClusterCommand.Format.self) ?? .text)
        case .adopt: self = .adopt(journal, folder: try Self.folder(arguments))
        case .detach:
            self = .detach(
                arguments.value("journal"), folder: try Self.folder(arguments), names: names,
                target: arguments.value("to"), isMovedAgain: arguments.flag("again"))
        case .verify: self = .verify(journal, try Self.one(names, action))
        case .snapshot: self = .snapshot(journal, try Self.one(names, action))
        case .epoch: self = .epoch(journal, names: names)
        }
    }

    private static func folder(_ arguments: ParsedArguments) throws(CommandError) -> String {
        guard let folder = arguments.value("data") else {
            throw .usage("--data=DIR is missing: the data folder of the server, which does not run")
        }
        return folder
    }

    private static func one(_ names: [String]?, _ action: ClusterCommand.Action) throws(CommandError) -> String {
        guard let names, names.count == 1 else {
            throw .usage("name one database: sluice cluster \(action.rawValue) NAME --journal=URL")
        }
        return names[0]
    }

    func run() throws {
        if case .detach(nil, let folder, let names, let target, _) = self {
            try ClusterMigration(folder).detachOffline(names, to: target) {
                Self.say($0, "is a server's alone", "as the folder has it")
            }
            return
        }
        #if PostgreSQL
            try runOnPostgreSQL()
        #else
            throw CommandError.usage("--journal: \(JournalOptions.missingTrait)")
        #endif
    }

    private static func say(_ moved: ClusterMigration.Moved, _ what: String, _ stays: String) {
        switch moved {
        case .database(let name, let position):
            StandardOutput.shared.write(
                line:
                    "database \(name): \(what), with \(position) \(GroupedNumber.noun(Int(clamping: position), "group"))"
            )
        case .elsewhere(let name, let place):
            StandardOutput.shared.write(
                line: "database \(name): left out, since it was detached before, into \(DisplayText.harmless(place))")
        case .users(let copied, let known):
            StandardOutput.shared.write(line: "users: \(copied.count) came along")
            for name in known {
                StandardOutput.shared.write(
                    line: "user \(DisplayText.harmless(name)): stays \(stays), with that password")
            }
        case .usersOfAdoption:
            StandardOutput.shared.write(
                line: "users: as they were when the folder was adopted; later changes were in PostgreSQL")
        }
    }

    #if PostgreSQL
        private func runOnPostgreSQL() throws {
            let output = StandardOutput.shared
            switch self {
            case .printSQL(let role): output.write(line: PostgresCluster.sql(role: role).dropLast())
            case .initialize(let url, let role):
                let script = try PostgresCluster.initialize(url, role: role)
                output.write(line: script.isEmpty ? "the cluster's tables are there" : "the cluster's tables were made")
                if let role {
                    output.write(line: "the role \(DisplayText.harmless(role)) has the rights of a node")
                }
            case .status(let url, let format):
                let status = try PostgresCluster.status(url)
                output.write(line: (format == .json ? status.json : status.text).dropLast())
            case .adopt(let url, let folder):
                let migration = try ClusterMigration(folder)
                let journals = try PostgresJournals(url: url)
                defer { journals.stop() }
                try migration.adopt(into: journals) { Self.say($0, "is the cluster's", "as the cluster has it") }
            case .detach(let url, let folder, let names, let target, let isMovedAgain):
                let migration = try ClusterMigration(folder)
                let journals = try PostgresJournals(url: url ?? "")
                defer { journals.stop() }
                try migration.detach(names, to: target, isMovedAgain: isMovedAgain, from: journals) {
                    Self.say($0, "is a server's alone", "as the folder has it")
                }
            case .verify(let url, let name):
                let comparison = try Self.naming(name, of: url) { try PostgresCluster.verify(url, database: name) }
                output.write(line: comparison.text.dropLast())
                guard comparison.agrees else {
                    let differs = Set(comparison.digests.values).count > 1
                    throw CommandError.failure(
                        differs
                            ? "the replicas of '\(name)' do not agree"
                            : "not all nodes have answered, so it is not known whether the replicas of '\(name)' agree")
                }
            case .snapshot(let url, let name):
                let position = try Self.naming(name, of: url) { try PostgresCluster.snapshot(url, database: name) }
                output.write(
                    line:
                        "database \(name): a snapshot with \(position) \(GroupedNumber.noun(Int(clamping: position), "group")) is proved"
                )
            case .epoch(let url, nil):
                let count = try PostgresCluster.beginEpoch(url)
                output.write(line: "an epoch begins in \(GroupedNumber.text(count, "database"))")
            case .epoch(let url, let names?):
                for name in names {
                    _ = try Self.naming(name, of: url) { try PostgresCluster.beginEpoch(url, database: name) }
                    output.write(line: "database \(name): an epoch begins")
                }
            }
        }

        /// Does something with a database, and names the one that was probably meant if the cluster does not have it.
        private static func naming<Result>(
            _ name: String, of url: String, _ body: () throws -> Result
        ) throws -> Result {
            do { return try body() } catch let error as StorageError where error.code == .notFound {
                let names = (try? PostgresCluster.status(url))?.databases.map(\.name) ?? []
                guard !names.isEmpty else { throw error }
                throw CommandError.failure("\(error.message); \(DatabaseName.hint(for: name, among: names))")
            }
        }
    #endif
}
