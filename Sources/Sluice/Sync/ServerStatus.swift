internal import FoundationEssentials

/// How a server's database is: what ``Store/serverStatus(timeout:)`` returns.
///
/// Counts of what happened begin when the server opened the database.
public struct ServerStatus: Sendable, Hashable, Codable {
    /// A class, and how many objects of it there are.
    public struct ClassCount: Sendable, Hashable, Codable {
        /// The class's name.
        public let name: String
        /// The number of its objects.
        public let count: UInt64
    }

    /// An index of the database.
    public struct Index: Sendable, Hashable, Codable {
        /// The index's name.
        public let name: String
        /// The name of the class whose objects it finds.
        public let className: String
        /// Its properties, separated by comma and blank; a descending one ends with ` DESC`.
        public let properties: String
        /// Why it is there: `key`, `link`, `declared` or `automatic`.
        public let origin: String

        private enum CodingKeys: String, CodingKey {
            case name, properties, origin
            case className = "class"
        }
    }

    /// Subscriptions by how they began.
    public struct SubscriptionStarts: Sendable, Hashable, Codable {
        /// Nothing had changed for them.
        public let current: UInt64
        /// What had changed was read from the log.
        public let replayed: UInt64
        /// Client and server had the same digest.
        public let equal: UInt64
        /// Client and server compared members.
        public let compared: UInt64
        /// From the start.
        public let anew: UInt64
    }

    /// The database's name.
    public let database: String
    /// The database's id, in hexadecimal digits.
    public let databaseID: String
    /// The database's version: that of its last commit.
    public let version: UInt64
    /// The oldest version from which the server can tell what has changed.
    public let logStart: UInt64
    /// The classes, in the schema's order.
    public let classes: [ClassCount]
    /// The indexes.
    public let indexes: [Index]
    /// The clients that are connected now.
    public let sessions: UInt64
    /// The clients that the server remembers, connected or not.
    public let clients: UInt64
    /// The live queries now; equal ones of several clients are one.
    public let views: UInt64
    /// The subscriptions now.
    public let subscriptions: UInt64
    /// Transactions that were accepted.
    public let commits: UInt64
    /// Groups of transactions that were written to disk at once.
    public let commitGroups: UInt64
    /// Objects that commits changed.
    public let changedObjects: UInt64
    /// Operations that later ones had outdone.
    public let supersededOperations: UInt64
    /// Transactions that were rejected.
    public let rejectedTransactions: UInt64
    /// Digests that were sent to running sessions.
    public let digestsSent: UInt64
    /// Pages that were sent to begin subscriptions.
    public let pagesSent: UInt64
    /// Subscriptions by how they began.
    public let subscriptionsStarted: SubscriptionStarts
}

extension ServerStatus: CustomStringConvertible {
    /// One line: the database, its version, and how many objects, sessions and subscriptions it has.
    public var description: String {
        let objects = classes.map { "\($0.name) \($0.count)" }.joined(separator: ", ")
        return "\(database) at version \(version): [\(objects)], \(sessions) sessions, \(subscriptions) subscriptions"
    }
}

/// A query that clients observe on a server's database.
public struct ServerSubscription: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The query in its canonical form.
    public let query: String
    /// The hash of the query's text, in hexadecimal digits.
    public let hash: String
    /// How many subscriptions share it.
    public let subscribers: UInt64
    /// How many of them are not complete yet.
    public let bootstrapping: UInt64

    /// One line: the query and how many share it.
    public var description: String { "\(query): \(subscribers) subscribers" }
}

extension StoreCore {
    /// A report of the server as a value.
    ///
    /// - Throws: ``SyncError`` as the report does, or when it cannot be read.
    func report<Report: Decodable>(
        _ topic: ReportTopic, as type: Report.Type, timeout: Duration?
    ) async throws -> Report {
        let text = try await report(topic, timeout: timeout)
        do { return try JSONDecoder().decode(type, from: Data(text.utf8)) } catch {
            throw SyncError(.protocolViolation, "the server's report cannot be read by this version")
        }
    }
}
