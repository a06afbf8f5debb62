internal import Dispatch
internal import Glibc

/// Signals that end the program.
enum Signals {
    private static let queue = DispatchQueue(label: "sluice.signals")

    /// Makes writing to a closed pipe an error of the write instead of the program's death.
    static func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }

    /// Calls `handler` at SIGTERM or SIGINT instead of dying from it. A second signal kills.
    static func onTermination(_ handler: @escaping @Sendable () -> Void) {
        for number in [SIGTERM, SIGINT] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            // The handler holds its source, which would end with this scope otherwise, until it has run.
            source.setEventHandler { @Sendable in
                withExtendedLifetime(source) {
                    signal(SIGTERM, SIG_DFL)
                    signal(SIGINT, SIG_DFL)
                    handler()
                    source.cancel()
                }
            }
            source.resume()
        }
    }

    /// Ends the program quietly with success at SIGTERM or SIGINT.
    static func exitQuietly() {
        onTermination { _exit(EXIT_SUCCESS) }
    }
}
