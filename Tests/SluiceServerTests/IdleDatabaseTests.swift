import Foundation
import SluiceModel
import SluiceServer
import SluiceTransport
import SluiceWire
import Synchronization
import Testing

/// Databases that nobody uses are closed, and open again on demand with all of their data.
struct IdleDatabaseTests {
    private final class Clock: Sendable {
        private let time = Mutex<Int64>(1_000_000_000_000)

        var now: Timestamp { Timestamp(microseconds: time.withLock { $0 }) }

        func advance(seconds: Int64) { time.withLock { $0 += seconds * 1_000_000 } }
    }

    /// A server over a folder, and a network in memory.
    private final class Harness: Sendable {
        let server: SyncServer
        let clock = Clock()
        private let network: LoopbackNetwork
        private let folder = FileManager.default.temporaryDirectory.path + "/sluice-idle-\(UUID().uuidString)"

        init(hasFolder: Bool = true) throws {
            let queue = DispatchQueue(label: "test.network")
            network = LoopbackNetwork { body in queue.async(execute: body) }
            var configuration = ServerConfiguration(
                dataFolder: hasFolder ? folder : nil, host: "server", isDevelopment: true)
            configuration.loopback = network
            configuration.now = { [clock] in clock.now }
            server = try SyncServer(configuration)
            try server.start()
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        /// Opens a session on a new connection.
        func open(_ database: String, _ identity: ClientIdentity? = nil) async throws -> Peer {
            let client = RawClient()
            let connection = network.connect(to: try Endpoint("ws://server/any"), delegate: client)
            let schema = try Schema([
                ClassSchema("Note", primaryKey: "id", properties: [Property("id", .scalar(.int))])
            ])
            connection.send(
                .hello(.init(features: [], agent: "test")),
                .open(.init(session: 1, path: database, identity: identity, schema: schema)))
            guard case .hello? = await client.next(), case .opened(let opened)? = await client.next() else {
                throw Unexpected()
            }
            return Peer(client: client, connection: connection, opened: opened)
        }
    }

    private struct Peer {
        let client: RawClient
        let connection: any MessageConnection
        let opened: ServerMessage.Opened

        func write(_ sequence: UInt64) async throws {
            let operation = ObjectOperation(ObjectRef(0, .int(Int64(sequence))), .create([]))
            let changeset = Changeset(
                sequence: sequence, baseVersion: 0, timestamp: HybridTimestamp(microseconds: Int64(sequence)),
                operations: [operation])
            connection.send(.upload(session: 1, changesets: [changeset]))
            while let message = await client.next() {
                if case .commit(let commit) = message, commit.header.acknowledged == sequence { return }
            }
            throw Unexpected()
        }

        /// Closes the connection, and returns once it has ended.
        func close() async {
            connection.close()
            _ = await client.end()
        }
    }

    private struct Unexpected: Error {}

    @Test(.timeLimit(.minutes(10))) func aDatabaseWithoutSessionsIsClosedAfterAMinuteAndOpensAgainWithAllItHad()
        async throws
    {
        let harness = try Harness()
        let first = try await harness.open("notes")
        try await first.write(1)
        await first.close()
        await harness.server.closeIdleDatabases()
        #expect(harness.server.openDatabaseCount == 1)
        harness.clock.advance(seconds: 61)
        await harness.server.closeIdleDatabases()
        #expect(harness.server.openDatabaseCount == 0)
        let again = try await harness.open("notes", first.opened.identity)
        #expect(again.opened.outcome == .resumed)
        #expect(again.opened.version == 1 && again.opened.acknowledged == 1)
        try await again.write(2)
        await harness.server.stop()
    }

    @Test(.timeLimit(.minutes(10))) func aDatabaseWithASessionStaysOpenHoweverQuiet() async throws {
        let harness = try Harness()
        let peer = try await harness.open("notes")
        harness.clock.advance(seconds: 100_000)
        await harness.server.closeIdleDatabases()
        #expect(harness.server.openDatabaseCount == 1)
        try await peer.write(1)
        await harness.server.stop()
    }

    @Test(.timeLimit(.minutes(10))) func sessionsThatOpenWhileDatabasesCloseLoseNothing() async throws {
        let harness = try Harness()
        var identity: ClientIdentity?
        for sequence in 1...50 as ClosedRange<UInt64> {
            harness.clock.advance(seconds: 61)
            async let sweep: Void = harness.server.closeIdleDatabases()
            let peer = try await harness.open("notes", identity)
            await sweep
            #expect(peer.opened.acknowledged == sequence - 1)
            try await peer.write(sequence)
            identity = peer.opened.identity
            await peer.close()
        }
        await harness.server.stop()
    }

    @Test(.timeLimit(.minutes(10))) func aServerInMemoryKeepsItsDatabases() async throws {
        let harness = try Harness(hasFolder: false)
        let peer = try await harness.open("notes")
        try await peer.write(1)
        await peer.close()
        harness.clock.advance(seconds: 100_000)
        await harness.server.closeIdleDatabases()
        #expect(harness.server.openDatabaseCount == 1)
        let again = try await harness.open("notes", peer.opened.identity)
        #expect(again.opened.version == 1)
        await harness.server.stop()
    }
}
