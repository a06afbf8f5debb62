import Dispatch
import Foundation
import Glibc
import Sluice
import SluiceModel
import SluiceServer
import TestSupport
import Testing

@testable import SluiceCLI

/// What the service manager hears of a server that does its work, and of one that does not.
struct SupervisionTests {
    private func start(_ folder: String, log: LogSink? = nil) throws -> (server: SyncServer, port: UInt16) {
        var configuration = ServerConfiguration(dataFolder: folder, port: 0, isDevelopment: true)
        configuration.log = log
        let server = try SyncServer(configuration)
        return (server, try server.start())
    }

    private func supervision(_ path: String) throws -> Supervision {
        let variables = ["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "2000"]
        return Supervision(ServiceManager(environment: { variables[$0] }, processID: 42))
    }

    @Test func nothingIsSaidWhileAnEventLoopStandsStill() async throws {
        try await withFolder { folder in
            let (stops, continuation) = AsyncStream<Void>.makeStream()
            let gate = DispatchSemaphore(value: 0)
            // A connection that opens is logged on its event loop.
            let log = LogSink(level: .debug) { line in
                guard line.message == "connected" else { return }
                continuation.yield()
                gate.wait()
            }
            let (stuck, port) = try start(folder + "/stuck", log: log)
            let (other, _) = try start(folder + "/other")
            let paths = (stuck: folder + "/a", other: folder + "/b")
            let managers = (stuck: try ManagerSocket(paths.stuck), other: try ManagerSocket(paths.other))
            let supervisions = (stuck: try supervision(paths.stuck), other: try supervision(paths.other))
            supervisions.stuck.begin(for: stuck, url: "here")
            supervisions.other.begin(for: other, url: "there")
            #expect(managers.stuck.next() == "READY=1\nSTATUS=listening on here")
            try await wait(for: "the watchdog") { managers.stuck.next() == "WATCHDOG=1" }

            let store = try await Store.open(
                StoreConfiguration(
                    schema: Schema([]), sync: SyncConfiguration(url: "ws://127.0.0.1:\(port)/shop")))
            for await _ in stops { break }
            while managers.stuck.next() != "" {}
            // One that answers says so again and again; the other at most what it was about to say.
            var (count, otherCount) = (0, 0)
            try await wait(for: "the other server") {
                while managers.stuck.next() != "" { count += 1 }
                while managers.other.next() == "WATCHDOG=1" { otherCount += 1 }
                return otherCount > 50
            }
            #expect(count <= 1)
            gate.signal()
            try await wait(for: "the watchdog again") { managers.stuck.next() == "WATCHDOG=1" }
            supervisions.stuck.end()
            supervisions.other.end()
            await store.close()
            await stuck.stop()
            await other.stop()
        }
    }
}
