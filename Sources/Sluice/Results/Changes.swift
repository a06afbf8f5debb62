/// The changes of results as an asynchronous sequence. Each iteration is a separate observation.
///
/// A consumer that is slow holds nothing up and costs no memory for each commit: one event waits for it, and commits of
/// one origin that come meanwhile join into the next. When the store is closed the sequence ends; when the task is
/// cancelled it throws `CancellationError`, so that a loop that ends has seen the end.
public struct Changes<Element: ResultElement>: AsyncSequence, Sendable {
    fileprivate let results: Results<Element>

    init(results: Results<Element>) { self.results = results }

    /// Begins an observation, which keeps the query in sync as long as the iterator exists.
    public func makeAsyncIterator() -> Iterator { Iterator(results) }

    /// One observation.
    public struct Iterator: AsyncIteratorProtocol {
        private struct Delivery: Sendable {
            let change: Change<Element>
            let ready: @Sendable () -> Void
        }

        private let deliveries: AsyncThrowingStream<Delivery, any Error>
        private let token: NotificationToken?

        init(_ results: Results<Element>) {
            let (stream, continuation) = AsyncThrowingStream<Delivery, any Error>.makeStream()
            do {
                _ = try results.query()
                let core = results.core
                token = try results.begin(end: { continuation.finish() }) { event, ready, _ in
                    continuation.yield(Delivery(change: Change(event, core: core), ready: ready))
                }
            } catch {
                token = nil
                continuation.finish(throwing: error)
            }
            deliveries = stream
        }

        /// Waits for the next change; nil when the store was closed.
        ///
        /// - Throws: `QueryError` or ``StoreError`` when the query cannot be observed; `CancellationError` when the task
        ///   was cancelled.
        public mutating func next() async throws -> Change<Element>? {
            for try await delivery in deliveries {
                delivery.ready()
                return delivery.change
            }
            try Task.checkCancellation()
            return nil
        }
    }
}
