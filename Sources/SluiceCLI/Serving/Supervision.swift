internal import SluiceServer
internal import Synchronization

/// Keeps the service manager informed about a server, if there is one.
final class Supervision: Sendable {
    private let manager: ServiceManager?
    private let status = Mutex("starting")
    private let watchdog = Mutex<Task<Void, Never>?>(nil)

    init(_ manager: ServiceManager? = ServiceManager()) { self.manager = manager }

    /// Says that the server serves, and from then on that it works, twice as often as the manager wants to hear it.
    ///
    /// - Parameter url: where the server listens.
    func begin(for server: SyncServer, url: String) {
        guard let manager else { return }
        let text = "listening on \(url)"
        status.withLock { $0 = text }
        manager.notify(.ready(status: text))
        guard let interval = manager.watchdogInterval else { return }
        watchdog.withLock { watchdog in
            watchdog = Task {
                while !Task.isCancelled {
                    // Nothing is said while the event loops answer nothing, and so the server is started again.
                    await server.beat()
                    manager.notify(.watchdog)
                    try? await Task.sleep(for: interval / 2)
                }
            }
        }
    }

    /// Says that settings are read while that is so.
    func reloading<Outcome>(_ body: () async throws -> Outcome) async throws -> Outcome {
        guard let manager else { return try await body() }
        manager.notify(.reloading)
        defer { manager.notify(.ready(status: status.withLock { $0 })) }
        return try await body()
    }

    /// Says that the server stops.
    ///
    /// - Parameter time: for how long it serves on before that.
    func beginStop(after time: Duration) { manager?.notify(.stopping(after: time)) }

    /// Says no more that the server works.
    func end() { watchdog.withLock { $0 }?.cancel() }
}
