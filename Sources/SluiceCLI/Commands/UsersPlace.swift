internal import FoundationEssentials
internal import Glibc
internal import SluiceStorage

#if PostgreSQL
    internal import SluicePostgres
#endif

/// Where users are that a command manages: in the data folder of a server, or in the PostgreSQL of a cluster.
enum UsersPlace {
    case folder(String)
    case journal(String)

    init(_ arguments: ParsedArguments) throws(CommandError) {
        switch (arguments.value("data"), arguments.value("journal")) {
        case (let folder?, nil): self = .folder(folder)
        case (nil, let url?): self = .journal(url)
        case (nil, nil):
            throw .usage(
                "--data=DIR is missing: the folder of the server's databases; or --journal=URL for the users of a "
                    + "cluster")
        case (_?, _?):
            throw .usage(
                "--data and --journal contradict each other: the users of a cluster are in its PostgreSQL, and not in "
                    + "the folders of its nodes")
        }
    }

    /// The store of users that is there.
    ///
    /// - Parameter isMaking: whether a folder is made if it is missing.
    func open(isMaking: Bool) throws -> OpenUsers {
        switch self {
        case .folder(let folder):
            if isMaking, mkdir(folder, 0o700) == 0 {
                Diagnostics.report("'\(folder)' was not there, and has been made")
            }
            var status = stat()
            guard stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
                throw CommandError.failure("'\(folder)' is no folder; name the one of the server's databases")
            }
            guard access(folder + "/server.cluster", F_OK) != 0 else {
                throw CommandError.failure(
                    "'\(folder)' is the folder of a node of a cluster, whose users are in its PostgreSQL; name that with "
                        + "--journal=URL in place of --data")
            }
            return OpenUsers(store: try UserFile(folder + "/" + UserFile.name))
        case .journal(let url):
            #if PostgreSQL
                let journals: PostgresJournals
                do throws(StorageError) { journals = try PostgresJournals(url: url) } catch {
                    throw CommandError.usage("--journal: \(error.message)")
                }
                // The clock of the journals is known once somebody has connected.
                _ = try journals.clusterID
                return OpenUsers(store: journals.users, clockOffset: journals.clockOffset) { journals.stop() }
            #else
                throw CommandError.usage("--journal: \(JournalOptions.missingTrait)")
            #endif
        }
    }
}

/// A store of users that a command has opened, and its clock.
struct OpenUsers {
    let store: any UserStore
    /// How far the clock that counts is ahead of this machine's, in microseconds.
    var clockOffset: Int64 = 0
    var end: () -> Void = {}

    /// The time, in microseconds since 1970.
    var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000_000) + clockOffset }

    func close() {
        store.close()
        end()
    }
}
