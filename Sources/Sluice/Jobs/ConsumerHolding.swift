internal import SluiceModel
internal import Synchronization

/// The time in which a consumer has its name: it tells the database now and then that it does, and hears of what was
/// committed. Whoever drops it without ``end()`` lets go of the name as well, without waiting for that.
final class ConsumerHolding: Sendable {
    private let reader: ConsumerReader
    private let arrivals: Arrivals
    private let beats: Task<Void, Never>
    private let hasEnded = Mutex(false)

    /// - Parameter reader: is open.
    init(_ reader: ConsumerReader) {
        self.reader = reader
        arrivals = Arrivals(reader.host)
        beats = Task.alongside { await reader.holdName() }
    }

    /// Waits until something was committed. Where the log was read further than the database knows, that is stored after a
    /// while.
    func waitForMore() async {
        guard reader.isAheadOfStored else { return await arrivals.next() }
        await withTaskGroup(of: Void.self) { [arrivals, host = reader.host] group in
            group.addTask { await arrivals.next() }
            group.addTask { await host.sleep(until: host.time.advanced(by: ConsumerReader.beat)) }
            await group.next()
            group.cancelAll()
        }
    }

    /// Lets go of the name, so that others need not wait. A database that does not answer is waited for only a while if
    /// the task is cancelled.
    func end() async {
        guard abandon() else { return }
        let host = reader.host
        await host.finish(by: { host.time.advanced(by: JobPatience.atEnd) }) { [reader, beats] in
            await ConsumerHolding.letGo(reader, after: beats)
        }
    }

    /// Ends without telling anybody.
    ///
    /// - Returns: false if it had ended before.
    @discardableResult
    func abandon() -> Bool {
        let isFirst = hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
        if isFirst {
            beats.cancel()
            arrivals.end()
        }
        return isFirst
    }

    deinit {
        guard abandon() else { return }
        _ = Task.alongside { [reader, beats] in await ConsumerHolding.letGo(reader, after: beats) }
    }

    private static func letGo(_ reader: ConsumerReader, after beats: Task<Void, Never>) async {
        await beats.value
        await reader.leave()
    }
}
