/// The changes of results, as they come. Each iteration is an observation of its own.
public struct Changes<Element: ResultElement>: AsyncSequence, Sendable {
    fileprivate let results: Results<Element>

    init(results: Results<Element>) { self.results = results }

    public func makeAsyncIterator() -> Iterator { Iterator(results) }

    public struct Iterator: AsyncIteratorProtocol {
        private struct Delivery: Sendable {
            let change: Change<Element>
            let ready: @Sendable () -> Void
        }

        private var deliveries: AsyncThrowingStream<Delivery, any Error>.Iterator
        private let token: NotificationToken?

        init(_ results: Results<Element>) {
            let (stream, continuation) = AsyncThrowingStream<Delivery, any Error>.makeStream()
            let core = results.core
            do {
                token = try results.begin { event, ready, _ in
                    continuation.yield(Delivery(change: Change(event, core: core), ready: ready))
                }
            } catch {
                token = nil
                continuation.finish(throwing: error)
            }
            deliveries = stream.makeAsyncIterator()
        }

        /// The next change; nil when the task was cancelled.
        ///
        /// - Throws: `QueryError` or ``StoreError`` when the query could not be observed.
        public mutating func next() async throws -> Change<Element>? {
            guard let delivery = try await deliveries.next() else { return nil }
            delivery.ready()
            return delivery.change
        }
    }
}
