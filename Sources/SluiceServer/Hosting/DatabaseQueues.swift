internal import Dispatch

/// The queues of one database: a serial one, on which the engine runs, and two for what is read beside it.
struct DatabaseQueues: Sendable {
    /// The engine's queue.
    let main: DispatchQueue
    /// The queue for costly queries.
    let aside: DispatchQueue
    /// The queue for pages and digests, several of which are read at a time.
    let readers: DispatchQueue
    private let isOnMain = DispatchSpecificKey<Bool>()

    init(ofDatabase name: String) {
        main = DispatchQueue(label: "sluice.database.\(name)")
        aside = DispatchQueue(label: "sluice.queries.\(name)", qos: .utility)
        readers = DispatchQueue(label: "sluice.pages.\(name)", qos: .utility, attributes: .concurrent)
        main.setSpecific(key: isOnMain, value: true)
    }

    /// Runs work on the engine's queue and waits for it; a call from that queue runs at once.
    func performAndWait<Result>(_ body: () throws -> Result) rethrows -> Result {
        if DispatchQueue.getSpecific(key: isOnMain) == true { return try body() }
        return try main.sync(execute: body)
    }

    /// Calls back on the engine's queue once what has begun on all three is done. No thread waits for it.
    func whenDone(_ completion: @escaping @Sendable () -> Void) {
        main.async { [self] in
            aside.async { [self] in
                readers.async(flags: .barrier) { [self] in main.async(execute: completion) }
            }
        }
    }

    /// Waits until what has begun beside the engine's queue is done.
    func finishReading() {
        aside.sync {}
        readers.sync(flags: .barrier) {}
    }
}
