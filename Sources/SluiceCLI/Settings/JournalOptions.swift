internal import SluiceServer
internal import SluiceStorage
internal import SluiceTransport

#if PostgreSQL
    internal import SluicePostgres
#endif

/// The options of `serve` that make the server a node of a cluster, whose nodes share their databases by the journals in a
/// PostgreSQL.
enum JournalOptions {
    static let options: [OptionDescription] = [
        .value(
            "journal", "URL",
            "postgres://USER@HOST/DATABASE, or file:PATH of a file with it: the server is a node of this cluster"),
        .value(
            "journal-listen", "URL",
            "where to listen for news if --journal names a pooler; none asks instead, every 250 ms"),
        .value("node", "NAME", "the name of this node; that of the machine by default"),
        .value("node-url", "URL", "ws://HOST:PORT where clients reach this node; other nodes hand sessions over to it"),
    ]

    /// The advice for a program that was built without the trait.
    static let missingTrait =
        "this program was built without PostgreSQL; build it with 'swift build -c release --traits PostgreSQL', which "
        + "needs libpq (libpq-dev on Debian)"

    /// The maximum length of a node's name, as of a host's in the DNS.
    private static let nameByteCountMax = 255

    /// Sets what the options say.
    static func apply(_ arguments: ParsedArguments, to configuration: inout ServerConfiguration) throws(CommandError) {
        guard let url = arguments.value("journal") else {
            for name in ["journal-listen", "node", "node-url"] where arguments.has(name) {
                throw .usage("--\(name) is about a node of a cluster; name its journal with --journal=URL")
            }
            return
        }
        if let name = arguments.value("node"),
            name.utf8.count > nameByteCountMax || DisplayText.harmless(name) != name || name.allSatisfy(\.isWhitespace)
        {
            throw .usage(
                "--node is the name of this node, at most \(nameByteCountMax) bytes without control characters, and not "
                    + "'\(DisplayText.shortened(name))'")
        }
        if let address = arguments.value("node-url"), (try? Endpoint(address))?.target != "/" {
            throw .usage(
                "--node-url is where clients reach this node, such as wss://a.example, and not "
                    + "'\(DisplayText.shortened(address))'")
        }
        #if PostgreSQL
            do throws(StorageError) {
                configuration.journal = try PostgresJournals(
                    url: url, listenURL: arguments.value("journal-listen"), node: arguments.value("node"),
                    nodeURL: arguments.value("node-url"), log: configuration.log)
            } catch {
                throw .usage("--journal: \(error.message)")
            }
        #else
            throw .usage("--journal: \(missingTrait)")
        #endif
    }
}
