/// The changes of results as an asynchronous sequence. Each iteration is a separate observation.
///
/// A consumer that is slow holds nothing up and costs no memory for each commit: one event waits for it, and commits of
/// one origin that come meanwhile join into the next.
///
/// A loop that ends has seen the end. When the server rejects the query, or syncing ends for good, the last event has
/// the state ``SubscriptionState/error`` and what is here, and then the sequence throws its error;
/// ``StoreSession/status`` says what has ended syncing by then. When the task is cancelled it throws
/// `CancellationError`. When the store is closed the sequence ends. Who wants to go on with what is here observes
/// ``Results/cached()``.
public struct Changes<Object: ResultElement>: AsyncSequence, Sendable {
    private let results: Results<Object>
    private let timeout: Duration?

    /// - Parameter timeout: the longest wait for an event; nil waits without limit.
    init(results: Results<Object>, timeout: Duration?) {
        self.results = results
        self.timeout = timeout
    }

    /// Begins an observation, which keeps the query in sync as long as the iterator exists.
    public func makeAsyncIterator() -> Iterator { Iterator(results, timeout: timeout) }

    /// One observation.
    public struct Iterator: AsyncIteratorProtocol {
        private struct Delivery: Sendable {
            let change: Change<Object>
            let ready: @Sendable () -> Void
        }

        private let deliveries: AsyncThrowingStream<Delivery, any Error>
        private let token: NotificationToken?
        private let limit: WaitLimit?

        init(_ results: Results<Object>, timeout: Duration?) {
            let (stream, continuation) = AsyncThrowingStream<Delivery, any Error>.makeStream()
            do {
                _ = try results.query()
                let core = results.core
                token = try results.begin(end: { continuation.finish() }) { event, ready, _ in
                    continuation.yield(Delivery(change: Change(event, core: core), ready: ready))
                    if let error = event.status.error { continuation.finish(throwing: error) }
                }
            } catch {
                token = nil
                continuation.finish(throwing: error)
            }
            limit = token == nil ? nil : timeout.map { Self.limit($0, results.core, continuation) }
            deliveries = stream
        }

        /// Ends the sequence when a wait takes too long.
        private static func limit(
            _ timeout: Duration, _ core: StoreCore,
            _ continuation: AsyncThrowingStream<Delivery, any Error>.Continuation
        ) -> WaitLimit {
            WaitLimit(timeout, core.configuration.environment) { [weak core] timeout, clockStandsStill in
                let error = core?.timedOut(
                    "no change of the results came", timeout, clockStandsStill: clockStandsStill)
                continuation.finish(throwing: error ?? CancellationError())
            }
        }

        /// Waits for the next change; nil when the store was closed.
        ///
        /// - Throws: `QueryError`, ``ModelError`` or ``StoreError`` when the query cannot be observed; ``SyncError`` when the server
        ///   rejects the query, when syncing has ended for good, or when the wait takes longer than
        ///   ``Results/changes(timeout:)`` allows; `CancellationError` when the task was cancelled.
        public mutating func next() async throws -> Change<Object>? {
            limit?.begin()
            defer { limit?.end() }
            for try await delivery in deliveries {
                delivery.ready()
                return delivery.change
            }
            try Task.checkCancellation()
            return nil
        }
    }
}
