/// What a session tells, as an asynchronous sequence. Each iteration listens on its own, and keeps the store open no
/// longer than others do.
public struct SessionEvents<Event: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Event

    private let source: EventSource<Event>

    init(_ source: EventSource<Event>) { self.source = source }

    /// Begins to listen, as long as the iterator exists.
    public func makeAsyncIterator() -> Iterator { Iterator(source.listen()) }

    /// One listener.
    public struct Iterator: AsyncIteratorProtocol {
        /// Ends with the last copy of the iterator.
        private let membership: EventMembership<Event>
        private let wakes: AsyncStream<Void>

        fileprivate init(_ membership: EventMembership<Event>) {
            self.membership = membership
            let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
            wakes = stream
            membership.listener.begin { continuation.yield() }
        }

        /// Waits for the next event; nil when no more will come, because the store was closed for example, or the task
        /// was cancelled.
        public mutating func next() async -> Event? {
            if let event = membership.listener.take() { return event }
            // One wake may stand for events and the end.
            if membership.listener.isFinished { return membership.listener.take() }
            for await _ in wakes {
                let isFinished = membership.listener.isFinished
                if let event = membership.listener.take() { return event }
                if isFinished { return nil }
            }
            return nil
        }
    }
}
