import Dispatch
import Sluice
import SluiceModel
import SluiceTesting
import Synchronization
import Testing

/// The handlers of a store: each has its own turn, may throw, and is called no more once the store is closed.
@Suite(.timeLimit(.minutes(10))) struct HandlerTests {
    private let server: TestServer
    private let store: Store

    init() async throws {
        server = try TestServer()
        store = try await server.open(
            schema: try Schema([
                ClassSchema(
                    "Item", primaryKey: "key",
                    properties: [Property("key", .scalar(.string)), Property("n", .scalar(.int))]
                )
            ]))
        try await store.connected()
    }

    private var items: Results<Record> { store.records(ofClass: "Item") }

    private func insert(_ key: String) async throws {
        let declared = store.schema.classes[0]
        try await store.write { try $0.upsert(Record(declared, ["key": .string(key)])) }
    }

    /// A door that handlers wait at.
    private final class Door: Sendable {
        private let semaphore = DispatchSemaphore(value: 0)

        func wait() { semaphore.wait() }
        func open(for count: Int = 1) { for _ in 0..<count { semaphore.signal() } }
    }

    // MARK: Turns

    @Test func handlersThatTakeLongHoldUpNoOther() async throws {
        let door = Door()
        let slow = try (0..<40).map { _ in try items.observe { change in if change.isInitial { door.wait() } } }
        let slowListener = try #require(store.session).observe { _ in door.wait() }
        let recorder = try EventRecorder(items)
        try await recorder.complete()
        let (stream, continuation) = AsyncStream<SessionChange>.makeStream()
        let quick = try #require(store.session).observe { continuation.yield($0) }
        for await change in stream where change.old == nil { break }
        try await insert("a")
        try await recorder.event { $0.results.count == 1 }
        // Nor do they hold up whoever waits for another query.
        #expect(try await store.records("Item WHERE n == 0").synced().count == 1)
        try await store.uploaded()
        door.open(for: 1_000)
        try await server.settled()
        quick.stop()
        slowListener.stop()
        for token in slow { token.stop() }
    }

    @Test func eachHandlerHasItsEventsInOrderAndOneAtATime() async throws {
        final class Seen: Sendable {
            let state = Mutex((running: 0, most: 0, counts: [Int]()))
        }
        let all = (0..<8).map { _ in Seen() }
        let tokens = try all.indices.map { index in
            try items.observe { change in
                all[index].state.withLock { seen in
                    seen.running += 1
                    seen.most = max(seen.most, seen.running)
                    seen.counts.append(change.results.count)
                }
                all[index].state.withLock { $0.running -= 1 }
            }
        }
        for number in 0..<50 { try await insert("\(number)") }
        try await server.settled()
        for seen in all.map({ $0.state.withLock { $0 } }) {
            #expect(seen.most == 1 && seen.counts == seen.counts.sorted() && seen.counts.last == 50)
        }
        for token in tokens { token.stop() }
    }

    @Test func aBurstOfQuickCallsNeedsOneThreadAndEachThatTakesLongOneMore() async {
        let pool = HandlerPool()
        let order = Mutex<[Int]>([])
        for number in 0..<2_000 { pool.run { order.withLock { $0.append(number) } } }
        await withCheckedContinuation { continuation in pool.whenIdle { continuation.resume() } }
        // On a busy machine a quick call may take long, and then another thread goes on beside it.
        #expect(order.withLock { $0.sorted() } == Array(0..<2_000))
        let door = Door()
        for _ in 0..<10 { pool.run { door.wait() } }
        await withCheckedContinuation { continuation in pool.run { continuation.resume() } }
        door.open(for: 10)
        await withCheckedContinuation { continuation in pool.whenIdle { continuation.resume() } }
    }

    // MARK: Throwing

    private struct Refusal: Error {}

    @Test func aHandlerThatThrowsIsToldOfNothingMoreAndItsOtherHandlerOfWhat() async throws {
        let events = Mutex(0)
        let errors = Mutex<[String]>([])
        let token = try items.observe { change in
            events.withLock { $0 += 1 }
            if !change.results.isEmpty { throw Refusal() }
        } onError: { error in
            errors.withLock { $0.append("\(type(of: error))") }
        }
        let recorder = try EventRecorder(items)
        try await recorder.complete()
        try await server.settled()
        let before = events.withLock { $0 }
        for key in ["a", "b"] { try await insert(key) }
        try await recorder.event { $0.results.count == 2 }
        try await server.settled()
        #expect(events.withLock { $0 } == before + 1 && errors.withLock { $0 } == ["Refusal"])
        // The query stays in sync until the token is stopped.
        recorder.token.stop(purgeLocal: false)
        #expect(try store.subscriptions().map(\.holderCount) == [1])
        token.stop()
        #expect(try store.subscriptions().isEmpty)
    }

    @Test func handlersOnAnActorThrowAndAreToldOfErrorsThere() async throws {
        actor Place {
            var (count, errors) = (0, [String]())
            func observe(_ results: Results<Record>) throws -> NotificationToken {
                try results.observe(isolation: self) { place, change in
                    place.count += 1
                    throw Refusal()
                } onError: { place, error in
                    place.errors.append("\(type(of: error))")
                }
            }
        }
        let place = Place()
        let token = try await place.observe(items)
        let told = Mutex<[String]>([])
        let other = try items.observe(isolation: MainActor.shared) { _ in
            MainActor.assertIsolated()
            throw Refusal()
        } onError: { error in
            MainActor.assertIsolated()
            told.withLock { $0.append("\(type(of: error))") }
        }
        while await place.errors.isEmpty || told.withLock({ $0.isEmpty }) { await Task.yield() }
        try await insert("a")
        try await server.settled()
        #expect(await place.count == 1)
        #expect(await place.errors == ["Refusal"])
        #expect(told.withLock { $0 } == ["Refusal"])
        token.stop()
        other.stop()
    }

    @Test func whatAHandlerThrowsIsLoggedWithoutWhatItSaysIfNobodyIsTold() async throws {
        struct Secret: Error, CustomStringConvertible { var description: String { "ada's" } }
        let lines = Mutex<[String]>([])
        let other = try await server.open(schema: store.schema) {
            $0.log = LogSink(level: .error) { line in lines.withLock { $0.append("\(line)") } }
        }
        let token = try other.records(ofClass: "Item").cached().observe { _ in throw Secret() }
        try await server.settled()
        let said = lines.withLock { $0 }
        #expect(said.contains { $0.contains("a handler has thrown") && $0.contains("Secret") })
        #expect(!said.contains { $0.contains("ada's") })
        token.stop()
    }

    // MARK: Closing

    /// Notes the calls that begin once none may.
    private final class Calls: Sendable {
        let areOver = Mutex(false)
        let late = Mutex<[String]>([])

        func note(_ kind: String) {
            if areOver.withLock({ $0 }) { late.withLock { $0.append(kind) } }
        }
    }

    /// Whatever handlers there are, wherever they are called: none is called once `close()` has returned.
    @Test(arguments: 0..<20) func noHandlerIsCalledOnceTheStoreIsClosed(round: Int) async throws {
        let other = try await server.open(schema: store.schema) { configuration in
            configuration.clientReset = ClientResetPolicy(.discardUnsynced, after: { _ in })
        }
        try await other.connected()
        let session = try #require(other.session)
        let calls = Calls()
        actor Place {}
        let place = Place()
        let queues = [nil, DispatchQueue(label: "own"), DispatchQueue(label: "many", attributes: .concurrent)]
        let results = other.records(ofClass: "Item")
        var observers = try queues.map { queue in
            try results.observe(on: queue) { _ in
                calls.note("observer")
            } onError: { _ in
                calls.note("error")
            }
        }
        observers.append(
            try results.observe(isolation: MainActor.shared) { _ in calls.note("observer on the main actor") })
        observers.append(try results.observe(isolation: place) { _, _ in calls.note("observer on an actor") })
        var tokens: [HandlerToken] = []
        for queue in queues {
            tokens.append(session.observe(on: queue) { _ in calls.note("session") })
            tokens.append(session.observeProgress(of: .upload, on: queue) { _ in calls.note("progress") })
            tokens.append(session.observeTransfers(on: queue) { _ in calls.note("transfers") })
            tokens.append(session.observeMessages(to: "topic", on: queue) { _ in calls.note("message") })
        }
        tokens.append(other.onWriteRejected { _ in calls.note("rejection") })
        let declared = other.schema.classes[0]
        let writing = Task {
            for number in 0..<(round * 3) {
                try await other.write {
                    try $0.upsert(Record(declared, ["key": .string("\(number % 5)"), "n": .int(Int64(number))]))
                }
                try await store.session?.send("hello", to: "topic")
            }
        }
        if round % 3 == 0 { try? await writing.value } else { for _ in 0..<round { await Task.yield() } }
        await other.close()
        calls.areOver.withLock { $0 = true }
        _ = try? await writing.value
        for queue in queues { queue?.sync(flags: .barrier) {} }
        await MainActor.run {}
        try await server.settled()
        #expect(calls.late.withLock { $0 } == [])
        withExtendedLifetime((observers, tokens)) {}
    }

    @Test func closingWaitsForTheHandlerThatRuns() async throws {
        let (door, inside) = (Door(), Door())
        let (calls, asked) = (Calls(), store)
        let token = try items.observe { _ in
            inside.open()
            door.wait()
            // A handler may ask its store while that is closed.
            _ = try? asked.subscriptions()
            calls.areOver.withLock { $0 = true }
        }
        await Task.detached { inside.wait() }.value
        async let closing: Void = store.close()
        while !store.core.isClosed { await Task.yield() }
        #expect(!calls.areOver.withLock { $0 })
        door.open()
        await closing
        #expect(calls.areOver.withLock { $0 })
        token.stop()
    }
}
