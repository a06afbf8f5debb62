internal import Synchronization

/// Keeps a handler registered as long as the token exists: one of ``Store/onWriteRejected(_:)`` or of
/// ``StoreSession/observe(on:_:)``.
public final class HandlerToken: Sendable {
    private let end: Mutex<(@Sendable () -> Void)?>

    init(_ end: @escaping @Sendable () -> Void) { self.end = Mutex(end) }

    /// Removes the handler. It is not called after this returns, unless the handler itself makes the call. Calling
    /// `stop()` again does nothing.
    public func stop() {
        let end = end.withLock { end in
            defer { end = nil }
            return end
        }
        end?()
    }

    deinit { stop() }
}
