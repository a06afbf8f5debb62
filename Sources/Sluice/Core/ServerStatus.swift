internal import FoundationEssentials

/// The status of a server's database, from ``Store/serverStatus(timeout:)``.
///
/// All counters start when the server opens the database.
public struct ServerStatus: Sendable, Hashable, Codable {
    /// A class and the number of its objects.
    public struct ClassCount: Sendable, Hashable, Codable {
        /// The class's name.
        public let name: String
        /// The number of its objects; nil if they cannot be counted because the database is damaged.
        public let count: UInt64?
    }

    /// An index of the database.
    public struct Index: Sendable, Hashable, Codable {
        /// The index's name.
        public let name: String
        /// The class whose objects the index finds.
        public let className: String
        /// The indexed properties, separated by a comma and a space; a descending one ends with ` DESC`.
        public let properties: String
        /// Why the index exists: `key`, `link`, `declared` or `automatic`.
        public let origin: String

        private enum CodingKeys: String, CodingKey {
            case name, properties, origin
            case className = "class"
        }
    }

    /// How many subscriptions began in each way.
    public struct SubscriptionStarts: Sendable, Hashable, Codable {
        /// Those for which nothing had changed.
        public let current: UInt64
        /// Those for which the server read the changes from its log.
        public let replayed: UInt64
        /// Those for which client and server had the same digest.
        public let equal: UInt64
        /// Those for which client and server compared the members.
        public let compared: UInt64
        /// Those for which the server sent everything.
        public let anew: UInt64
    }

    /// The node of a cluster that has answered, and whose sessions, views and subscriptions these are; nil for a server
    /// alone.
    public let node: String?
    /// The database's name.
    public let database: String
    /// The database's id, in hexadecimal digits.
    public let databaseID: String
    /// What is wrong with the database's file; empty unless the server has found damage. A damaged database serves what
    /// can be read, and accepts no writes.
    public let damage: String
    /// The version of the database, which is that of its last commit.
    public let version: UInt64
    /// The oldest version since which the server knows what has changed.
    public let logStart: UInt64
    /// The classes, in the order of the schema.
    public let classes: [ClassCount]
    /// The indexes.
    public let indexes: [Index]
    /// The clients that are connected now.
    public let sessions: UInt64
    /// The clients that the server has a record of, connected or not; nil if they cannot be counted because the
    /// database is damaged.
    public let clients: UInt64?
    /// The current views. Subscriptions to equal queries share one view.
    public let views: UInt64
    /// The current subscriptions.
    public let subscriptions: UInt64
    /// Accepted transactions.
    public let commits: UInt64
    /// Groups of transactions that the server wrote to disk at once.
    public let commitGroups: UInt64
    /// Objects that commits have changed.
    public let changedObjects: UInt64
    /// Operations without effect, because later operations had precedence.
    public let supersededOperations: UInt64
    /// Rejected transactions.
    public let rejectedTransactions: UInt64
    /// Digests that the server has sent to running sessions.
    public let digestsSent: UInt64
    /// Pages that the server has sent in bootstraps and catch-ups.
    public let pagesSent: UInt64
    /// How many subscriptions began in each way.
    public let subscriptionsStarted: SubscriptionStarts
}

extension ServerStatus: CustomStringConvertible {
    /// One line: the database, its version, its objects by class, the numbers of sessions and subscriptions, and
    /// whether it is damaged.
    public var description: String {
        let objects = classes.map { "\($0.name) \($0.count.map(String.init) ?? "?")" }.joined(separator: ", ")
        let state =
            "[\(objects)], \(BoundedText.count(sessions, "session")), "
            + BoundedText.count(subscriptions, "subscription")
        return "\(database) at version \(version): \(state)" + (damage.isEmpty ? "" : ", damaged")
    }
}

/// A query that clients observe on a server's database.
public struct ServerSubscription: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The node of a cluster that has answered, and whose subscriptions these are; nil for a server alone.
    public let node: String?
    /// The query in its canonical form.
    public let query: String
    /// The hash of the query's text, in hexadecimal digits.
    public let hash: String
    /// How many subscriptions share the query.
    public let subscribers: UInt64
    /// How many of these subscriptions are not complete yet.
    public let bootstrapping: UInt64
    /// How many commits concerned the query since it was first observed.
    public let found: UInt64
    /// How many of them changed what its subscribers are to have.
    public let changed: UInt64
    /// What the subscribers were sent, in bytes, without what frames add.
    public let sentBytes: UInt64
    /// How many pages they were sent.
    public let sentPages: UInt64
    /// How long commits took for the query, in microseconds.
    public let applyingMicroseconds: UInt64
    /// How many subscriptions were brought up to date by pages.
    public let bootstraps: UInt64
    /// How long these waited for their last page, together, in microseconds.
    public let bootstrapMicroseconds: UInt64

    /// One line: the query and the number of its subscriptions.
    public var description: String { "\(BoundedText.cut(query)): \(BoundedText.count(subscribers, "subscriber"))" }
}

extension StoreCore {
    /// Asks the server for a report, and decodes it.
    ///
    /// - Throws: ``SyncError`` when there is no answer, or when this version cannot read it.
    func report<Report: Decodable>(
        _ topic: ReportTopic, as type: Report.Type, timeout: Duration?
    ) async throws -> Report {
        let text = try await report(topic, timeout: timeout)
        do { return try JSONDecoder().decode(type, from: Data(text.utf8)) } catch {
            throw SyncError(.protocolViolation, "the server's report cannot be read by this version")
        }
    }
}
