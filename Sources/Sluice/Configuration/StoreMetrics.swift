internal import SluiceModel

/// What a store reports about its work, for a program's monitoring. Every requirement has an implementation that does
/// nothing, so that more may be added. `MetricsText` counts all of it.
///
/// The calls come from any thread, and possibly from several at once; they must not block or use the store.
public protocol StoreMetrics: Sendable {
    /// The store has a connection to its server.
    func connected()
    /// A connection has ended, or an attempt has failed.
    func disconnected()
    /// A message of the store was handed to the connection.
    ///
    /// - Parameter byteCount: its length, before WebSocket's own bytes.
    func sent(byteCount: Int)
    /// A message has arrived.
    ///
    /// - Parameter byteCount: its length, without WebSocket's own bytes.
    func received(byteCount: Int)
    /// The server has rejected a write.
    func writeRejected(code: SyncError.Code)
    /// What a subscription holds differs from the server's digest of it, so it is fetched anew. That is a fault of the
    /// store, its file, or the server.
    func subscriptionDiffered()
    /// A write transaction has ended.
    ///
    /// - Parameters:
    ///   - duration: how long it took, from when it had its turn.
    ///   - isStored: whether it is stored; false if it threw.
    func wrote(took duration: Duration, isStored: Bool)
}

extension StoreMetrics {
    public func connected() {}
    public func disconnected() {}
    public func sent(byteCount: Int) {}
    public func received(byteCount: Int) {}
    public func writeRejected(code: SyncError.Code) {}
    public func subscriptionDiffered() {}
    public func wrote(took duration: Duration, isStored: Bool) {}
}

extension MetricsText: StoreMetrics {
    public func connected() { count("sluice_store_connections_total", "Connections that were made.") }

    public func disconnected() {
        count("sluice_store_disconnections_total", "Connections that ended, and attempts that failed.")
    }

    public func sent(byteCount: Int) { count("sluice_store_sent_bytes_total", "Bytes of messages sent.", byteCount) }

    public func received(byteCount: Int) {
        count("sluice_store_received_bytes_total", "Bytes of messages received.", byteCount)
    }

    public func writeRejected(code: SyncError.Code) {
        count(
            "sluice_store_rejected_writes_total", "Writes that the server rejected.", label: ("code", code.description))
    }

    public func subscriptionDiffered() {
        count("sluice_store_digest_differences_total", "Subscriptions that differed from the server's digest.")
    }

    public func wrote(took duration: Duration, isStored: Bool) {
        time(
            "sluice_store_write_seconds", "Write transactions.", duration,
            label: ("outcome", isStored ? "stored" : "failed"))
    }
}
