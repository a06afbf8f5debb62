package import SluiceModel

/// What a client says to a server. PROTOCOL.md has the binary form and the order in which messages may come.
package enum ClientMessage: Hashable, Sendable {
    /// The first message of a connection.
    case hello(Hello)
    /// Opens a session on a database.
    case open(Open)
    /// Presents new credentials in an open session, before the old ones expire.
    case authenticate(session: UInt64, credentials: [WireCredentials])
    /// Asks for a query's objects, now and as they change.
    case subscribe(Subscribe)
    /// Ends a subscription. Its id is not used again on this connection.
    case unsubscribe(session: UInt64, subscription: UInt64)
    /// Sends local transactions, ascending by sequence.
    case upload(session: UInt64, changesets: [Changeset])
    /// Says that pages were applied, so that as many more may come.
    case credit(session: UInt64, pages: UInt64)
    /// Lists the members of a subscription that the server asked for,
    /// ``ServerMessage/listMembers(session:subscription:)``.
    case members(Members)
    /// Asks what the server is doing, for tools.
    case reportRequest(ReportRequest)
    /// Adds classes and properties to the schema, in an open session; the server answers
    /// ``ServerMessage/schema(session:schema:)``.
    case declare(session: UInt64, schema: Schema)
    /// Removes an empty class, or a property without values, from the schema; the server answers as a report request.
    case remove(Removal)
    /// Names objects that the client keeps although no subscription holds them; the server answers
    /// ``ServerMessage/withdrawn(_:)``.
    case cached(KeptObjects)
    /// Stores other rules, or asks what they would change; the server answers as a report request.
    case deploy(Deployment)
    /// Replaces the values of `$client` in the server's rules, in an open session; see ``VariableLimits``.
    case variables(session: UInt64, values: ValueMap)
    /// Names the topics whose messages the session wants, in place of all before; the server answers as a report
    /// request.
    case listen(Listen)
    /// Sends a message to whoever listens to a topic now; the server answers as a report request.
    case message(Message)
    /// What a job asks; the server answers as a report request.
    case job(JobCall)
    /// A transaction as lines of JSON, of a session with ``Features/light``. It does not travel: a door makes it.
    case write(Write)
    /// Ends a session. Its id is not used again on this connection.
    case close(session: UInt64)

    /// Whether all of it was read: of an upload a transaction may be known by its sequence only.
    package var isWhole: Bool {
        if case .upload(_, let changesets) = self { changesets.allSatisfy { $0.problem == nil } } else { true }
    }
}

extension ClientMessage {
    package struct Hello: Hashable, Sendable {
        /// The lowest protocol version that the client speaks.
        package var versionMin: UInt64
        /// The highest protocol version that the client speaks.
        package var versionMax: UInt64
        package var features: Features
        /// The client's program and version, for the server's status page.
        package var agent: String

        package init(
            versionMin: UInt64 = ProtocolVersion.minimum, versionMax: UInt64 = ProtocolVersion.maximum,
            features: Features, agent: String
        ) {
            self.versionMin = versionMin
            self.versionMax = versionMax
            self.features = features
            self.agent = agent
        }
    }

    package struct Open: Hashable, Sendable {
        /// Chosen by the client, above 0, once per connection.
        package var session: UInt64
        /// The database's name.
        package var path: String
        /// Every proof the client has; none means anonymous.
        package var credentials: [WireCredentials]
        /// The identity from the last open; nil asks for a new one.
        package var identity: ClientIdentity?
        /// The server version that the client stands at; 0 without one.
        package var version: UInt64
        /// The highest sequence that the client knows to be taken or refused, and has dropped; 0 if none.
        package var acknowledged: UInt64
        package var options: Options
        /// The values of `$client` in the server's rules; see ``VariableLimits``.
        package var variables: ValueMap
        /// The classes and properties that the client knows, in its own order.
        package var schema: Schema
        /// What both sides of the connection know. It does not travel: whoever receives the message sets it.
        package var features = Features.all

        package init(
            session: UInt64, path: String, credentials: [WireCredentials] = [], identity: ClientIdentity? = nil,
            version: UInt64 = 0, acknowledged: UInt64 = 0, options: Options = [], variables: ValueMap = ValueMap(),
            schema: Schema
        ) {
            self.session = session
            self.path = path
            self.credentials = credentials
            self.identity = identity
            self.version = version
            self.acknowledged = acknowledged
            self.options = options
            self.variables = variables
            self.schema = schema
        }

        package struct Options: OptionSet, Hashable, Sendable {
            package let rawValue: UInt64

            package init(rawValue: UInt64) { self.rawValue = rawValue }

            /// The session will not upload, and the server keeps no record of the client.
            package static let readOnly = Options(rawValue: 1 << 0)
            /// The client keeps nothing on disk: when it closes the session the server forgets it.
            package static let shortLived = Options(rawValue: 1 << 1)
            /// The client wants no session token for its password: nothing of the login is left when the session ends.
            package static let withoutToken = Options(rawValue: 1 << 2)
            /// The database must be there: opening the session makes none.
            package static let existing = Options(rawValue: 1 << 3)
            /// The client knows other servers of the database, and goes to one of them if this one would rather have it.
            package static let hasOthers = Options(rawValue: 1 << 4)
            /// The database is to be made if it is not there, though the client brings no classes yet.
            package static let making = Options(rawValue: 1 << 5)
        }
    }

    package struct Subscribe: Hashable, Sendable {
        package var session: UInt64
        /// Chosen by the client, once per session and connection.
        package var subscription: UInt64
        /// The query, in canonical form or any other.
        package var query: String
        /// What the client knows from before; nil for a fresh start.
        package var resume: Resume?
        /// A complete subscription of the session to the same query with a lower limit, whose members the client has as
        /// well; only without ``resume``. With ``Features/aggregates``.
        package var basis: UInt64?

        package init(
            session: UInt64, subscription: UInt64, query: String, resume: Resume? = nil, basis: UInt64? = nil
        ) {
            precondition(resume == nil || basis == nil, "a subscription goes on from one thing")
            self.session = session
            self.subscription = subscription
            self.query = query
            self.resume = resume
            self.basis = basis
        }
    }

    /// The state in which a client kept a subscription's members.
    package struct Resume: Hashable, Sendable {
        /// The server version that the membership and the rows stand at.
        package var version: UInt64
        /// The hash of the canonical query that they belong to.
        package var queryHash: ObjectID
        /// How many members there are.
        package var memberCount: UInt64
        /// Whether nothing of the membership of that version is missing.
        package var isWhole: Bool
        /// The digest of the contents, where the client made one.
        package var digest: ObjectID?

        package init(
            version: UInt64, queryHash: ObjectID, memberCount: UInt64, isWhole: Bool = true, digest: ObjectID? = nil
        ) {
            self.version = version
            self.queryHash = queryHash
            self.memberCount = memberCount
            self.isWhole = isWhole
            self.digest = digest
        }
    }

    /// A part of the members of a subscription.
    package struct Members: Hashable, Sendable {
        package var session: UInt64
        package var subscription: UInt64
        /// Whether more parts follow.
        package var isContinued: Bool
        /// Keys, versions and roles, without values. A version says that of every later one the client may lack
        /// something.
        package var content: ObjectBlock

        package init(session: UInt64, subscription: UInt64, isContinued: Bool, content: ObjectBlock) {
            self.session = session
            self.subscription = subscription
            self.isContinued = isContinued
            self.content = content
        }
    }

    package struct ReportRequest: Hashable, Sendable {
        package var session: UInt64
        /// Chosen by the client; the reply repeats it.
        package var request: UInt64
        package var topic: ReportTopic
        /// What the topic needs: a query for ``ReportTopic/explain``, JSON for those about what users may do, else
        /// empty.
        package var argument: String

        package init(session: UInt64, request: UInt64, topic: ReportTopic, argument: String = "") {
            self.session = session
            self.request = request
            self.topic = topic
            self.argument = argument
        }
    }

    package struct Removal: Hashable, Sendable {
        package var session: UInt64
        /// Chosen by the client, among its report requests; the reply repeats it.
        package var request: UInt64
        package var className: String
        /// The property to remove; nil for the class.
        package var property: String?

        package init(session: UInt64, request: UInt64, className: String, property: String?) {
            self.session = session
            self.request = request
            self.className = className
            self.property = property
        }
    }

    package struct Listen: Hashable, Sendable {
        package var session: UInt64
        /// Chosen by the client, among its report requests; the reply repeats it.
        package var request: UInt64
        /// All topics; see ``MessageLimits``.
        package var topics: [String]

        package init(session: UInt64, request: UInt64, topics: [String]) {
            self.session = session
            self.request = request
            self.topics = topics
        }
    }

    package struct Message: Hashable, Sendable {
        package var session: UInt64
        /// Chosen by the client, among its report requests; the reply repeats it.
        package var request: UInt64
        package var topic: String
        package var payload: [UInt8]

        package init(session: UInt64, request: UInt64, topic: String, payload: [UInt8]) {
            self.session = session
            self.request = request
            self.topic = topic
            self.payload = payload
        }
    }

    /// A transaction whose operations are JSON, as the lines of `sluice write`.
    package struct Write: Hashable, Sendable {
        package var session: UInt64
        package var sequence: UInt64
        /// A JSON array of objects.
        package var operations: String
        package var operationCount: Int
        /// Why the transaction cannot be read: it is rejected then. Nil for others.
        package var fault: String?

        package init(
            session: UInt64, sequence: UInt64, operations: String, operationCount: Int, fault: String? = nil
        ) {
            self.operationCount = operationCount
            self.fault = fault
            self.session = session
            self.sequence = sequence
            self.operations = operations
        }
    }

    package struct Deployment: Hashable, Sendable {
        package var session: UInt64
        /// Chosen by the client, among its report requests; the reply repeats it.
        package var request: UInt64
        /// Whether nothing is stored: the client only asks what would change.
        package var isTrial: Bool
        /// The file of rules.
        package var file: [UInt8]

        package init(session: UInt64, request: UInt64, isTrial: Bool, file: [UInt8]) {
            self.session = session
            self.request = request
            self.isTrial = isTrial
            self.file = file
        }
    }

    /// What a report is about. More may come; a server answers ``ServerMessage/reportError(_:)`` to those it does not
    /// know.
    package struct ReportTopic: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt64

        package init(rawValue: UInt64) { self.rawValue = rawValue }

        package static let status = ReportTopic(rawValue: 0)
        package static let subscriptions = ReportTopic(rawValue: 1)
        package static let explain = ReportTopic(rawValue: 2)
        package static let schema = ReportTopic(rawValue: 3)
        /// The rules as they are stored.
        package static let rules = ReportTopic(rawValue: 4)
        /// What the user of the session may do. Every user may ask.
        package static let privileges = ReportTopic(rawValue: 5)
        /// Whether another user may do something, and why.
        package static let verdict = ReportTopic(rawValue: 6)
        /// What a query means and costs for another user.
        package static let explainAs = ReportTopic(rawValue: 7)
        /// The costliest queries. 8 is the answer to rules that are stored.
        package static let top = ReportTopic(rawValue: 9)
        /// The sessions of the server that have the database; of a development server all.
        package static let sessions = ReportTopic(rawValue: 10)
        /// Ends one of ``sessions``.
        package static let endSession = ReportTopic(rawValue: 11)
        package static let databases = ReportTopic(rawValue: 12)
        package static let health = ReportTopic(rawValue: 13)
        package static let metrics = ReportTopic(rawValue: 14)
        /// The last lines of the server's log.
        package static let log = ReportTopic(rawValue: 15)
        package static let consumers = ReportTopic(rawValue: 16)
        package static let queues = ReportTopic(rawValue: 17)
        /// What a queue or a consumer has given up.
        package static let dead = ReportTopic(rawValue: 18)
    }
}
