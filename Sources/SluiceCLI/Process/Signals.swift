internal import Dispatch
internal import Glibc
internal import SluiceStorage
internal import Synchronization

/// Handles the signals that end the program.
enum Signals {
    private struct Source: @unchecked Sendable {
        // Any thread may use a dispatch source; only its protocol does not say so.
        let source: any DispatchSourceSignal
    }

    /// Keeps the sources alive; a source that is released stops.
    private static let sources = Mutex<[Source]>([])
    private static let queue = DispatchQueue(label: "sluice.signals")

    /// Makes a write to a closed pipe fail, instead of ending the program.
    static func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }

    /// Calls `handler` at the first SIGTERM or SIGINT, which then does not end the program. A second signal does.
    static func onTermination(_ handler: @escaping @Sendable () -> Void) {
        for number in [SIGTERM, SIGINT] {
            signal(number, SIG_IGN)
            let source = Source(source: DispatchSource.makeSignalSource(signal: number, queue: queue))
            source.source.setEventHandler { @Sendable in
                signal(SIGTERM, SIG_DFL)
                signal(SIGINT, SIG_DFL)
                handler()
            }
            sources.withLock { $0.append(source) }
            source.source.resume()
        }
    }

    /// Calls `handler` at each SIGHUP, which then does not end the program.
    static func onHangUp(_ handler: @escaping @Sendable () -> Void) {
        signal(SIGHUP, SIG_IGN)
        let source = Source(source: DispatchSource.makeSignalSource(signal: SIGHUP, queue: queue))
        source.source.setEventHandler { @Sendable in handler() }
        sources.withLock { $0.append(source) }
        source.source.resume()
    }

    /// Does work that gives up at the first SIGTERM or SIGINT, and takes away what it has begun. A second signal ends the
    /// program at once.
    ///
    /// - Parameters:
    ///   - outcome: what is so then, for the message.
    ///   - work: asks now and then whether to give up.
    /// - Throws: ``CommandError`` after a signal; what `work` throws.
    static func interruptible(
        _ outcome: String, _ work: (_ isCancelled: @escaping @Sendable () -> Bool) throws -> Void
    ) throws {
        let state = Interruption()
        onTermination { state.isOrdered.store(true, ordering: .relaxed) }
        do { try work { state.isOrdered.load(ordering: .relaxed) } } catch let error as StorageError
            where error.code == .cancelled
        { throw CommandError.failure("interrupted; \(outcome)") }
    }

    private final class Interruption: Sendable {
        let isOrdered = Atomic(false)
    }

    /// Ends the program at SIGTERM or SIGINT, with success and without a message.
    static func exitQuietly() {
        onTermination { _exit(EXIT_SUCCESS) }
    }
}
