internal import SluiceModel

/// What a server accepts and how it paces itself; part of its first message.
package struct ServerLimits: Hashable, Sendable {
    /// The longest frame that the server accepts, in bytes.
    package var frameLengthMax: UInt64
    /// The most that a frame to the server may expand to, in bytes.
    package var expandedLengthMax: UInt64
    /// The most sessions of a connection.
    package var sessionCountMax: UInt64
    /// The most subscriptions of a session.
    package var subscriptionCountMax: UInt64
    /// The most operations of one transaction.
    package var operationCountMax: UInt64
    /// How many pages of a session may travel before the client confirms any.
    package var pageCreditMax: UInt64
    /// The server drops connections that it has not heard from for this long, in milliseconds. Clients ping at least
    /// twice in it.
    package var idleTimeoutMilliseconds: UInt64

    package init(
        frameLengthMax: UInt64 = UInt64(DataLimits.standard.frameByteCount),
        expandedLengthMax: UInt64 = UInt64(DataLimits.standard.expandedByteCount), sessionCountMax: UInt64 = 64,
        subscriptionCountMax: UInt64 = 10_000,
        operationCountMax: UInt64 = UInt64(DataLimits.standard.operationCount), pageCreditMax: UInt64 = 8,
        idleTimeoutMilliseconds: UInt64 = 180_000
    ) {
        self.frameLengthMax = frameLengthMax
        self.expandedLengthMax = expandedLengthMax
        self.sessionCountMax = sessionCountMax
        self.subscriptionCountMax = subscriptionCountMax
        self.operationCountMax = operationCountMax
        self.pageCreditMax = pageCreditMax
        self.idleTimeoutMilliseconds = idleTimeoutMilliseconds
    }
}
