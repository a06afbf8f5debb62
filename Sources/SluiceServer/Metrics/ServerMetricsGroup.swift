/// Reports a server's work to several receivers, each of which is told everything.
public struct ServerMetricsGroup: ServerMetrics {
    private let receivers: [any ServerMetrics]

    /// Makes one receiver of several.
    ///
    /// - Parameter receivers: who is told, in this order.
    public init(_ receivers: [any ServerMetrics]) { self.receivers = receivers }

    public func clientConnected() { for receiver in receivers { receiver.clientConnected() } }

    public func clientDisconnected() { for receiver in receivers { receiver.clientDisconnected() } }

    public func loginDecided(method: ServerLoginMethod, isAccepted: Bool) {
        for receiver in receivers { receiver.loginDecided(method: method, isAccepted: isAccepted) }
    }

    public func quotaReached(_ quota: ServerQuota) { for receiver in receivers { receiver.quotaReached(quota) } }

    public func slowClientClosed() { for receiver in receivers { receiver.slowClientClosed() } }

    public func receivedFromClient(byteCount: Int) {
        for receiver in receivers { receiver.receivedFromClient(byteCount: byteCount) }
    }

    public func sentToClient(byteCount: Int) {
        for receiver in receivers { receiver.sentToClient(byteCount: byteCount) }
    }

    public func databaseTurn(eventCount: Int, of database: String, took duration: Duration) {
        for receiver in receivers { receiver.databaseTurn(eventCount: eventCount, of: database, took: duration) }
    }
}
