internal import Dispatch
internal import Glibc
internal import Synchronization

/// Signals that end the program.
enum Signals {
    private struct Source: @unchecked Sendable {
        // Dispatch sources may be used from any thread; only their protocol does not say so.
        let source: any DispatchSourceSignal
    }

    /// Sources end when nobody holds them.
    private static let sources = Mutex<[Source]>([])
    private static let queue = DispatchQueue(label: "sluice.signals")

    /// Makes writing to a closed pipe an error of the write instead of the program's death.
    static func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }

    /// Calls `handler` at the first SIGTERM or SIGINT instead of dying from it. A further one kills.
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

    /// Ends the program quietly with success at SIGTERM or SIGINT.
    static func exitQuietly() {
        onTermination { _exit(EXIT_SUCCESS) }
    }
}
