internal import SluiceModel
internal import Synchronization

/// What a program gives a store to call. Whoever opens the open store with others replaces them.
final class StoreFunctions: Sendable {
    private struct State {
        var log: LogSink?
        var metrics: (any StoreMetrics)?
        var keepsRevokedObject: (@Sendable (Identity) -> Bool)?
        var beforeReset: (@Sendable (ClientReset) -> Void)?
        var afterReset: (@Sendable (ClientReset) -> Void)?

        mutating func adopt(_ configuration: StoreConfiguration) {
            log = configuration.log ?? log
            metrics = configuration.metrics ?? metrics
            keepsRevokedObject = configuration.keepsRevokedObject ?? keepsRevokedObject
            beforeReset = configuration.clientReset.before ?? beforeReset
            afterReset = configuration.clientReset.after ?? afterReset
        }
    }

    private let state = Mutex(State())

    init(_ configuration: StoreConfiguration) { adopt(configuration) }

    /// Replaces the functions that a configuration has.
    func adopt(_ configuration: StoreConfiguration) { state.withLock { $0.adopt(configuration) } }

    /// Where log lines go at the moment; nil if nowhere.
    var log: LogSink? { state.withLock { $0.log } }

    var metrics: (any StoreMetrics)? { state.withLock { $0.metrics } }

    var beforeReset: (@Sendable (ClientReset) -> Void)? { state.withLock { $0.beforeReset } }

    var afterReset: (@Sendable (ClientReset) -> Void)? { state.withLock { $0.afterReset } }

    /// Whether an object stays that the user may not read any more.
    func keepsRevokedObject(_ object: Identity) -> Bool {
        state.withLock { $0.keepsRevokedObject }?(object) ?? false
    }

    /// A sink whose lines go to the log sink of the moment, as far as that wants them.
    var forwardingLog: LogSink { LogSink(level: .verbose) { [self] line in log?.receive(line) } }
}
