internal import SluiceServer

/// A database whose rules a command reads or stores.
struct RulesTarget: Sendable {
    /// The database's name, where there are several.
    let name: String?
    let access: ServerAccess

    /// What lines about the database begin with, where there are several.
    var prefix: String { name.map { "\($0): " } ?? "" }

    /// The databases that the arguments name: one by its URL, or with `--all` those that have files in a folder.
    static func targets(_ arguments: ParsedArguments) throws(CommandError) -> [RulesTarget] {
        guard arguments.flag("all") else {
            guard !arguments.has("data") else { throw .usage("--data=DIR is for --all") }
            return [RulesTarget(name: nil, access: try ServerAccess(arguments, at: 1))]
        }
        guard let folder = arguments.value("data") else {
            throw .usage("--data=DIR is missing: the server's folder, which says what databases it has")
        }
        let names: [String]
        do throws(ServerError) { names = try DatabaseFolder(folder).names } catch { throw .failure(error.message) }
        guard !names.isEmpty else { throw .failure("there is no database in '\(DisplayText.shortened(folder))'") }
        let server = arguments.positionals[1]
        let base = server.hasSuffix("/") ? String(server.dropLast()) : server
        guard base.split(separator: "/").count < 3 else {
            throw .usage(
                "with --all the URL names a server alone, such as wss://db.example.com:9443, and "
                    + "'\(DisplayText.shortened(server))' names a database")
        }
        var targets: [RulesTarget] = []
        for name in names {
            targets.append(RulesTarget(name: name, access: try ServerAccess(arguments, to: "\(base)/\(name)")))
        }
        return targets
    }
}
