package import SluiceModel

/// What the server sends of subscriptions.
extension ServerMessage {
    package struct Page: Hashable, Sendable {
        package var session: UInt64
        package var subscriptions: [UInt64]
        /// The server version that the page's rows were read at.
        package var version: UInt64
        /// How much of the bootstrap is done with this page, 0 to 1.
        package var progress: Double
        /// Whether the page builds a membership anew or changes the one that the client presented.
        package var kind: Complete.Kind
        package var content: ViewBlock

        package init(
            session: UInt64, subscriptions: [UInt64], version: UInt64, progress: Double,
            kind: Complete.Kind = .bootstrap, content: ViewBlock
        ) {
            self.session = session
            self.subscriptions = subscriptions
            self.version = version
            self.progress = progress
            self.kind = kind
            self.content = content
        }
    }

    package struct Commit: Hashable, Sendable {
        package var header: CommitHeader
        package var blocks: [SubscriptionBlock]
        /// The figures that are others than before; in the last part of a commit. With ``Features/aggregates``.
        package var figures: [SubscriptionFigures]

        package init(
            _ header: CommitHeader, blocks: [SubscriptionBlock] = [], figures: [SubscriptionFigures] = []
        ) {
            self.header = header
            self.blocks = blocks
            self.figures = figures
        }
    }

    /// What queries compute over everything that they match, for the subscriptions that share a view.
    package struct SubscriptionFigures: Hashable, Sendable {
        package var subscriptions: [UInt64]
        /// All of them, as they are now: the total.
        package var values: [Value]

        package init(subscriptions: [UInt64], values: [Value]) {
            self.subscriptions = subscriptions
            self.values = values
        }
    }

    /// What one commit changes for the subscriptions that share a view.
    package struct SubscriptionBlock: Hashable, Sendable {
        package var subscriptions: [UInt64]
        package var content: ViewBlock

        package init(subscriptions: [UInt64], content: ViewBlock) {
            self.subscriptions = subscriptions
            self.content = content
        }
    }

    package struct Complete: Hashable, Sendable {
        package var session: UInt64
        package var subscription: UInt64
        /// The server version that the subscription is right at.
        package var version: UInt64
        /// When that version was committed.
        package var acceptedAt: Timestamp
        package var kind: Kind
        /// The digest of the subscription's contents, where the server has one.
        package var digest: ObjectID?
        /// What the query computes over everything that it matches, as of the version; nil where it computes nothing.
        /// With ``Features/aggregates``.
        package var figures: [Value]?

        package init(
            session: UInt64, subscription: UInt64, version: UInt64, acceptedAt: Timestamp, kind: Kind,
            digest: ObjectID? = nil, figures: [Value]? = nil
        ) {
            self.session = session
            self.subscription = subscription
            self.version = version
            self.acceptedAt = acceptedAt
            self.kind = kind
            self.digest = digest
            self.figures = figures
        }

        package enum Kind: UInt8, Sendable, CaseIterable {
            /// The pages since subscribe named every member; what they did not name is none.
            case bootstrap = 0
            /// The membership that the client presented, changed by the pages since subscribe, is right.
            case resumed = 1
        }
    }

    /// The results among the rows of a page or commit in the same frame.
    package struct Places: Hashable, Sendable {
        package var session: UInt64
        package var subscriptions: [UInt64]
        package var rows: [Place]

        package init(session: UInt64, subscriptions: [UInt64], rows: [Place]) {
            self.session = session
            self.subscriptions = subscriptions
            self.rows = rows
        }
    }

    /// Where a result stands.
    package struct Place: Hashable, Sendable {
        package var object: ObjectRef
        /// A text whose bytes order as the query orders its results; nil where it is the one that the client has.
        package var key: String?

        package init(_ object: ObjectRef, _ key: String?) {
            self.object = object
            self.key = key
        }
    }

    /// The digest of a complete subscription at a version of the running session.
    package struct DigestCheck: Hashable, Sendable {
        package var session: UInt64
        package var subscription: UInt64
        package var version: UInt64
        package var digest: ObjectID

        package init(session: UInt64, subscription: UInt64, version: UInt64, digest: ObjectID) {
            self.session = session
            self.subscription = subscription
            self.version = version
            self.digest = digest
        }
    }

    package struct SubscriptionError: Hashable, Sendable {
        package var session: UInt64
        package var subscription: UInt64
        package var code: ErrorCode
        package var message: String
        /// Where in the query, as an offset in UTF-8 bytes.
        package var position: UInt64?

        package init(
            session: UInt64, subscription: UInt64, code: ErrorCode, message: String, position: UInt64? = nil
        ) {
            self.session = session
            self.subscription = subscription
            self.code = code
            self.message = message
            self.position = position
        }
    }
}
