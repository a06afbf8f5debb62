#if PostgreSQL

internal import FoundationEssentials

extension ClusterStatus {
    /// The status as lines for people: the server, then a line for each node and each database.
    public var text: String {
        var lines = warnings.map { "warning: \($0)" }
        lines.append("tables \(tables), groups in format \(format), history \(history)")
        for node in nodes {
            let state = node.isAlive ? "alive" : "silent for \(Int(node.silence)) s"
            lines.append("node \(node.name): \(state), version \(node.version)" + (node.url.map { ", \($0)" } ?? ""))
        }
        for database in databases {
            let lags = nodes.compactMap { node in lag(of: node, in: database).map { text(ofLag: $0, node, database) } }
            lines.append(
                "database \(database.name): position \(database.position), quiet for \(Int(database.quiet)) s"
                    + (database.snapshot.map { ", snapshot at \($0)" } ?? "")
                    + database.duties.sorted { $0.key < $1.key }.map { ", \($0.value) has the duty \($0.key)" }.joined()
                    + (database.isDetached ? ", detached" + (database.detachedTo.map { " into \($0)" } ?? "") : "")
                    + lags.map { ", \($0)" }.joined())
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Nodes say how far they are every few seconds, so one may have what it seems to lack.
    private func text(ofLag lag: UInt64, _ node: Node, _ database: Database) -> String {
        let isOld = lag > 0 && node.silence > database.quiet
        return "\(node.name) lacks \(lag)" + (isOld ? " by what it said \(Int(node.silence.rounded(.up))) s ago" : "")
    }

    /// The status as a JSON object, with the names of the properties here.
    public var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // Numbers, texts and containers of them can always be encoded.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) + "\n" } ?? "{}\n"
    }
}

#endif
