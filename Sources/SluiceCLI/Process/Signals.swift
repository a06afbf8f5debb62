internal import Dispatch
internal import Glibc
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

    /// Ends the program at SIGTERM or SIGINT, with success and without a message.
    static func exitQuietly() {
        onTermination { _exit(EXIT_SUCCESS) }
    }
}
