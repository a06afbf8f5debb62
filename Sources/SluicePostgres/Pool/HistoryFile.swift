#if PostgreSQL

internal import FoundationEssentials

/// The file in a node's data folder that has the history of the server that it saw last, so that the node refuses an old
/// primary after a restart, too. It is no loss if it is missing: the node then believes the next server that it meets.
struct HistoryFile: Sendable {
    let path: String

    /// The history; nil if there is none, or something else.
    func read() -> PostgresHistory? {
        FileManager.default.contents(atPath: path).flatMap {
            PostgresHistory(String(decoding: $0, as: UTF8.self).trimmed)
        }
    }

    func write(_ history: PostgresHistory) {
        try? Data((history.description + "\n").utf8).write(to: URL(filePath: path), options: .atomic)
    }
}

extension String {
    fileprivate var trimmed: String { String(drop(while: \.isWhitespace).prefix { !$0.isWhitespace }) }
}

#endif
