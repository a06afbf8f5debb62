import Dispatch
import Foundation
import Sluice

/// A backend that reacts to a query: `DelayAlerts URL FILE`, until SIGTERM or SIGINT.
@main struct DelayAlerts {
    static func main() async {
        do { try await run() } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    private static func run() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 2, let url = arguments.first, let path = arguments.last else {
            FileHandle.standardError.write(Data("usage: DelayAlerts ws://HOST:PORT/DATABASE STORE-FILE\n".utf8))
            exit(64)
        }
        let store = try await Store.open(
            StoreConfiguration(
                path: path, models: [Departure.self, Alert.self], sync: SyncConfiguration(url: url)))
        let service = Task { try await AlertService(store: store).run() }
        let signals = [SIGTERM, SIGINT].map { number in onSignal(number) { service.cancel() } }
        FileHandle.standardOutput.write(Data("watching\n".utf8))

        let result = await service.result
        signals.forEach { $0.cancel() }
        // The writes are safe on this disk already. If the server is reached in time, it has them too.
        try? await store.uploaded(timeout: .seconds(5))
        await store.close()
        try result.get()
    }

    /// Calls `handler` when a signal comes, which would else end the process.
    private static func onSignal(_ number: Int32, _ handler: @escaping @Sendable () -> Void)
        -> any DispatchSourceSignal
    {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler { @Sendable in handler() }
        source.resume()
        return source
    }
}
