/// Wakes a job when something was committed. It ends when nobody has it any more.
final class Arrivals: Sendable {
    private let stream: AsyncStream<Void>
    private let stop: @Sendable () -> Void

    init(_ host: any JobHost) {
        // One arrival stands for all: the job looks at everything.
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.stream = stream
        stop = host.ring { continuation.yield() }
    }

    /// Waits until something was committed since the last call, or the task is cancelled.
    func next() async {
        var iterator = stream.makeAsyncIterator()
        _ = await iterator.next()
    }

    func end() { stop() }

    deinit { stop() }
}
