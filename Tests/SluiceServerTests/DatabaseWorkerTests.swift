import Dispatch
import Foundation
import SluiceModel
import SluiceServer
import SluiceTransport
import SluiceWire
import Synchronization
import Testing

/// A server in memory. The test decides when the opening of its first database ends.
private final class Harness: Sendable {
    let server: SyncServer
    let client = RawClient()
    let connection: any MessageConnection
    private let queue = DispatchQueue(label: "test.network")
    private let mayOpen = DispatchSemaphore(value: 0)
    private let isOpening: AsyncStream<Void>

    /// - Parameter numbers: the random numbers of the server; nil for those that ``release()`` lets go on.
    init(folder: String? = nil, holdsBack: Bool = false, numbers: (@Sendable () -> UInt64)? = nil) throws {
        let network = LoopbackNetwork { [queue] body in queue.async(execute: body) }
        var configuration = ServerConfiguration(dataFolder: folder, host: "server", isDevelopment: true)
        configuration.loopback = network
        let (isOpening, opens) = AsyncStream<Void>.makeStream()
        self.isOpening = isOpening
        let random = Random(holdsBack: holdsBack, opens: opens, mayOpen: mayOpen)
        configuration.random = numbers ?? { random.next() }
        server = try SyncServer(configuration)
        try server.start()
        connection = network.connect(to: try Endpoint("ws://server/any"), delegate: client)
        connection.send(.hello(.init(features: [], agent: "test")))
    }

    func open(_ session: UInt64, _ database: String) {
        connection.send(.open(.init(session: session, path: database, schema: Schema())))
    }

    /// Returns once the opening of the first database has begun.
    func opening() async { for await _ in isOpening { return } }

    func release() { mayOpen.signal() }

    /// Returns once everything that was sent so far has been delivered or is held back.
    func delivered() { queue.sync {} }
}

/// Random numbers, the first of which blocks its reader until the test releases it.
private final class Random: Sendable {
    private let count = Atomic<UInt64>(0)
    private let holdsBack: Bool
    private let opens: AsyncStream<Void>.Continuation
    private let mayOpen: DispatchSemaphore

    init(holdsBack: Bool, opens: AsyncStream<Void>.Continuation, mayOpen: DispatchSemaphore) {
        self.holdsBack = holdsBack
        self.opens = opens
        self.mayOpen = mayOpen
    }

    func next() -> UInt64 {
        let number = count.add(1, ordering: .relaxed).newValue
        if holdsBack, number == 1 {
            opens.yield()
            mayOpen.wait()
        }
        return number
    }
}

/// Random numbers, the first of which comes once somebody else asks for the second.
private final class Rendezvous: Sendable {
    private let count = Atomic<UInt64>(0)
    private let haveMet = DispatchSemaphore(value: 0)

    func next() -> UInt64 {
        let number = count.add(1, ordering: .relaxed).newValue
        if number == 1 { haveMet.wait() }
        if number == 2 { haveMet.signal() }
        return number
    }
}

struct DatabaseWorkerTests {
    /// Each database needs a random number to open, and the first one gets it only when the second asks too.
    @Test(.timeLimit(.minutes(10)))
    func severalDatabasesWorkAtTheSameTime() async throws {
        let rendezvous = Rendezvous()
        let harness = try Harness(numbers: { rendezvous.next() })
        harness.open(1, "first")
        harness.open(2, "second")
        guard case .hello = await harness.client.next() else { throw Unexpected() }
        var opened: Set<UInt64> = []
        for _ in 0..<2 {
            guard case .opened(let message) = await harness.client.next() else { throw Unexpected() }
            opened.insert(message.session)
        }
        #expect(opened == [1, 2])
        await harness.server.stop()
    }

    @Test(.timeLimit(.minutes(10)))
    func aDatabaseThatIsBeingOpenedHoldsUpNoOther() async throws {
        let harness = try Harness(holdsBack: true)
        harness.open(1, "slow")
        await harness.opening()
        harness.open(2, "quick")
        guard case .hello = await harness.client.next() else { throw Unexpected() }
        guard case .opened(let first) = await harness.client.next() else { throw Unexpected() }
        #expect(first.session == 2)
        harness.release()
        guard case .opened(let second) = await harness.client.next() else { throw Unexpected() }
        #expect(second.session == 1)
        await harness.server.stop()
    }

    @Test(.timeLimit(.minutes(10)))
    func whatWaitsForADatabaseIsBoundedByItsSizeAndAllOfItArrives() async throws {
        let harness = try Harness(holdsBack: true)
        harness.open(1, "slow")
        await harness.opening()
        let query = String(repeating: " ", count: 30 << 20)
        for subscription in 1...4 as ClosedRange<UInt64> {
            harness.connection.send(.subscribe(.init(session: 1, subscription: subscription, query: query)))
        }
        harness.delivered()
        #expect(harness.connection.queuedBytes > 0)
        harness.release()
        guard case .hello = await harness.client.next() else { throw Unexpected() }
        guard case .opened = await harness.client.next() else { throw Unexpected() }
        for subscription in 1...4 as ClosedRange<UInt64> {
            guard case .subscriptionError(let error) = await harness.client.next() else { throw Unexpected() }
            #expect(error.subscription == subscription)
        }
        #expect(harness.connection.queuedBytes == 0)
        await harness.server.stop()
    }

    @Test func aDatabaseThatCannotBeOpenedEndsTheSessionAndTheNextOneTriesAgain() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/sluice-worker-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = folder + "/broken.sluicedb"
        try Data("this is no database".utf8).write(to: URL(filePath: file))
        let harness = try Harness(folder: folder)
        harness.open(1, "broken")
        guard case .hello = await harness.client.next() else { throw Unexpected() }
        guard case .error(let failure) = await harness.client.next() else { throw Unexpected() }
        #expect(failure.session == 1)
        #expect(failure.code == .databaseDamaged)
        #expect(failure.action == .stop)
        harness.connection.send(.credit(session: 1, pages: 1))
        try FileManager.default.removeItem(atPath: file)
        harness.open(2, "broken")
        guard case .opened(let opened) = await harness.client.next() else { throw Unexpected() }
        #expect(opened.session == 2)
        await harness.server.stop()
    }

    @Test func aDataFolderThatTheServerMakesIsItsOwnersAloneAndOneThatIsThereStaysAsItIs()
        async throws
    {
        let folder = FileManager.default.temporaryDirectory.path + "/sluice-folder-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        await (try Harness(folder: folder + "/data")).server.stop()
        #expect(try mode(of: folder + "/data") == 0o700)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder + "/data")
        await (try Harness(folder: folder + "/data")).server.stop()
        #expect(try mode(of: folder + "/data") == 0o755)
    }

    private func mode(of path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private struct Unexpected: Error {}
}
