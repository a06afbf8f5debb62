internal import SluiceModel

extension JobHost {
    /// Does something also if the task is cancelled, but does not wait for ever then: the database may not answer.
    ///
    /// - Parameters:
    ///   - end: until when it waits; asked for once the task is cancelled.
    ///   - body: is cancelled at that time.
    func finish(
        by end: @escaping @Sendable () -> Timestamp, _ body: @escaping @Sendable () async -> Void
    ) async {
        let cancellation = AsyncStream<Void>.makeStream()
        let task = Task.alongside {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await body() }
                group.addTask {
                    for await _ in cancellation.stream {}
                    await sleep(until: end())
                }
                await group.next()
                group.cancelAll()
            }
        }
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            cancellation.continuation.finish()
        }
    }
}

/// How long a job whose task is cancelled waits for a database that does not answer.
enum JobPatience {
    static let atEnd = Duration.seconds(5)
}
