package import SluiceModel

/// What a server says to a client. PROTOCOL.md has the binary form and the order in which messages may come.
package enum ServerMessage: Hashable, Sendable {
    /// Answers hello.
    case hello(HelloReply)
    /// Answers open.
    case opened(Opened)
    /// The server's schema, whole, after it has grown. Positions in later messages are positions in it.
    case schema(session: UInt64, schema: Schema)
    /// A part of a bootstrap or catch-up.
    case page(Page)
    /// What one server version, or a group of them, changes for this client.
    case commit(Commit)
    /// A bootstrap or catch-up is over.
    case complete(Complete)
    /// Asks for the members of a subscription that the client wants to resume: ``ClientMessage/members(_:)``.
    case listMembers(session: UInt64, subscription: UInt64)
    /// What a complete subscription holds, so that the client can check itself.
    case digest(DigestCheck)
    /// What the client must know about its login: when it ends, and what to present from now on.
    case login(Login)
    /// Which context the user reads in.
    case context(Context)
    /// Names objects that the client keeps and that are not there for its user.
    case withdrawn(KeptObjects)
    /// Which rows of the frame's pages and commits are results, and where they stand; with ``Features/light``.
    case places(Places)
    /// A subscription was refused or ended by the server.
    case subscriptionError(SubscriptionError)
    /// An uploaded transaction was refused, whole or in parts.
    case rejected(Rejected)
    /// A session or the connection has a problem.
    case error(Failure)
    /// The server hands a session over to another server, and has ended it.
    case moved(Moved)
    /// What a client has sent to a topic that this one listens to.
    case message(Message)
    /// Answers a report request: JSON in UTF-8.
    case report(session: UInt64, request: UInt64, json: [UInt8])
    /// A report request has no answer.
    case reportError(ReportError)
}

extension ServerMessage {
    package struct HelloReply: Hashable, Sendable {
        /// The protocol version of everything that follows.
        package var version: UInt64
        package var features: Features
        /// The server's wall clock.
        package var time: Timestamp
        package var limits: ServerLimits
        /// The server's program and version.
        package var agent: String

        package init(
            version: UInt64, features: Features, time: Timestamp, limits: ServerLimits, agent: String
        ) {
            self.version = version
            self.features = features
            self.time = time
            self.limits = limits
            self.agent = agent
        }
    }

    package struct Opened: Hashable, Sendable {
        package var session: UInt64
        /// The client's identity from now on, with a new nonce; in a read-only session that of the database, with
        /// client 0 and nonce 0.
        package var identity: ClientIdentity
        /// How the identity relates to the one presented.
        package var outcome: OpenOutcome
        /// The server's version.
        package var version: UInt64
        /// The highest sequence that the server has taken from this client; 0 if none.
        package var acknowledged: UInt64
        /// What the server has refused of this client's since what the client knew to be acknowledged; ascending.
        package var rejections: [Rejection]
        /// The authenticated user; nil for the anonymous one.
        package var userID: String?
        /// The server's schema, whole, with what the client's added; nil if it is the one that the client declared, and
        /// the client has asked for that.
        package var schema: Schema?

        package init(
            session: UInt64, identity: ClientIdentity, outcome: OpenOutcome, version: UInt64,
            acknowledged: UInt64 = 0, rejections: [Rejection] = [], userID: String? = nil, schema: Schema?
        ) {
            self.session = session
            self.identity = identity
            self.outcome = outcome
            self.version = version
            self.acknowledged = acknowledged
            self.rejections = rejections
            self.userID = userID
            self.schema = schema
        }
    }

    /// Where a session goes on.
    package struct Moved: Hashable, Sendable {
        package var session: UInt64
        /// The other server's URL, with the database; empty for one of those that the client knows, which has said that
        /// there are some (``ClientMessage/Open/Options/hasOthers``).
        package var url: String

        package init(session: UInt64, url: String) {
            self.session = session
            self.url = url
        }
    }

    /// A message that a client has sent to a topic.
    package struct Message: Hashable, Sendable {
        package var session: UInt64
        package var topic: String
        /// Who has sent it; nil for an anonymous user.
        package var userID: String?
        /// When the server passed it on.
        package var sentAt: Timestamp
        package var payload: [UInt8]

        package init(session: UInt64, topic: String, userID: String?, sentAt: Timestamp, payload: [UInt8]) {
            self.session = session
            self.topic = topic
            self.userID = userID
            self.sentAt = sentAt
            self.payload = payload
        }
    }

    /// What a login has come to.
    package struct Login: Hashable, Sendable {
        package var session: UInt64
        /// When the proof ends; nil if it does not.
        package var expiresAt: Timestamp?
        /// What to present from now on instead of what was presented; nil to keep that.
        package var credential: WireCredentials?

        package init(session: UInt64, expiresAt: Timestamp? = nil, credential: WireCredentials? = nil) {
            self.session = session
            self.expiresAt = expiresAt
            self.credential = credential
        }
    }

    /// The context that the user of a session reads in. What the user may read has changed where it is another one than
    /// when a membership was right.
    package struct Context: Hashable, Sendable {
        package var session: UInt64
        /// Equal for equal contexts.
        package var context: ObjectID
        /// Equal where the user may read the same properties of what the user may read.
        package var fields: ObjectID
        /// The properties that the user may not read, ascending by class.
        package var hidden: [HiddenProperties]

        package init(session: UInt64, context: ObjectID, fields: ObjectID, hidden: [HiddenProperties] = []) {
            self.session = session
            self.context = context
            self.fields = fields
            self.hidden = hidden
        }
    }

    /// What a user may not read of a class's objects.
    package struct HiddenProperties: Hashable, Sendable {
        package var classIndex: Int
        package var properties: PropertySet

        package init(classIndex: Int, properties: PropertySet) {
            self.classIndex = classIndex
            self.properties = properties
        }
    }

    package enum OpenOutcome: UInt8, Sendable, CaseIterable {
        /// The client presented no identity and has a new one.
        case created = 0
        /// The server knows the client.
        case resumed = 1
        /// The nonce was not the expected one: the client's file is a copy. It has a new identity and keeps its outbox,
        /// numbers included; its memberships stay valid for a resume.
        case copied = 2
        /// The database or its epoch is another one. The client has a new identity, keeps its outbox, numbers included,
        /// and must not resume.
        case reset = 3
        /// The client was away so long that the server has forgotten it. As ``reset``, but what the client may have
        /// uploaded before may have been accepted, so it must not be uploaded again.
        case forgotten = 4
    }

    package struct ReportError: Hashable, Sendable {
        package var session: UInt64
        /// The number of the request.
        package var request: UInt64
        package var code: ErrorCode
        package var message: String
        /// Where in the query, as an offset in UTF-8 bytes.
        package var position: UInt64?

        package init(session: UInt64, request: UInt64, code: ErrorCode, message: String, position: UInt64? = nil) {
            self.session = session
            self.request = request
            self.code = code
            self.message = message
            self.position = position
        }
    }

    package struct Rejected: Hashable, Sendable {
        package var session: UInt64
        package var rejection: Rejection

        package init(session: UInt64, rejection: Rejection) {
            self.session = session
            self.rejection = rejection
        }
    }

    /// A transaction that the server did not take.
    package struct Rejection: Hashable, Sendable {
        /// The transaction's sequence. It counts as acknowledged: the client drops it and shows the server's state.
        package var sequence: UInt64
        package var reasons: [Reason]

        package init(sequence: UInt64, reasons: [Reason]) {
            self.sequence = sequence
            self.reasons = reasons
        }

        package struct Reason: Hashable, Sendable {
            /// The object concerned; nil when it is the transaction as a whole.
            package var object: ObjectRef?
            package var code: ErrorCode
            package var message: String

            package init(object: ObjectRef? = nil, code: ErrorCode, message: String) {
                self.object = object
                self.code = code
                self.message = message
            }
        }
    }

    package struct Failure: Hashable, Sendable {
        /// The session concerned; 0 for the connection.
        package var session: UInt64
        package var code: ErrorCode
        package var message: String
        package var action: ErrorAction
        /// The least time to wait before trying again, in milliseconds; 0 when the client's own schedule will do.
        package var retryAfter: UInt64

        package init(
            session: UInt64 = 0, code: ErrorCode, message: String, action: ErrorAction, retryAfter: UInt64 = 0
        ) {
            self.session = session
            self.code = code
            self.message = message
            self.action = action
            self.retryAfter = retryAfter
        }
    }
}
