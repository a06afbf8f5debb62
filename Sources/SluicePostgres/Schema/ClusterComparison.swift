#if PostgreSQL

/// What the nodes of a cluster found when they compared their replicas of a database.
public struct ClusterComparison: Sendable, Hashable {
    /// The group after which they compared.
    public var position: UInt64
    /// The digest that each node found, as hexadecimal digits, by the node's name.
    public var digests: [String: String]
    /// The nodes that live and have the database open, and did not say in time.
    public var missing: [String]

    /// Whether all nodes have the same.
    public var agrees: Bool { missing.isEmpty && Set(digests.values).count == 1 }

    /// The result as lines for people.
    public var text: String {
        let lines =
            digests.sorted { $0.key < $1.key }.map { "node \($0.key): \($0.value)" }
            + missing.map { "node \($0): no answer" }
        let end = agrees ? "all have the same at position \(position)" : "they differ at position \(position)"
        return (lines + [missing.isEmpty ? end : "not all have answered"]).joined(separator: "\n") + "\n"
    }
}

#endif
