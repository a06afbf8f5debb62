import Foundation
import Sluice
import SluiceModel
import SluiceTesting
import Synchronization
import Testing

/// A way in which no more comes from the server, and what everybody says of it: a row of the table in docs/errors.md.
private struct Ending: Sendable, CustomTestStringConvertible {
    let title: String
    var rules: String?
    var schema = Ending.item(.scalar(.int))
    var configure: @Sendable (inout StoreConfiguration) -> Void = { _ in }
    var database = "test"
    /// What makes it come about; the store has not begun to sync.
    var trigger: @Sendable (TestServer, Store) async throws -> Void = { try $1.session?.start() }
    let connected: String
    let uploaded: String
    let synced: String
    let changes: String
    let state: String

    var testDescription: String { title }

    /// The row of the table.
    var row: String {
        "| " + [title, connected, uploaded, synced, changes, state].joined(separator: " | ") + " |"
    }

    static func item(_ type: PropertyType) -> Schema {
        let declared = try? ClassSchema(
            "Item", primaryKey: "key", properties: [Property("key", .scalar(.string)), Property("n", type)])
        return (try? Schema([declared].compactMap(\.self))) ?? Schema()
    }

    /// An end of syncing that everybody is told in the same way.
    static func ofSyncing(_ title: String, _ code: String, state: String = "`failed`") -> Ending {
        Ending(title: title, connected: code, uploaded: code, synced: code, changes: code, state: state)
    }

    static let all: [Ending] = {
        var schema = ofSyncing("the classes contradict the server's", "`schema`")
        schema.schema = item(.scalar(.string))
        var database = ofSyncing("no database can have the URL's name", "`unknownDatabase`")
        database.database = "no.such.name"
        var login = ofSyncing("the server does not accept the login", "`notAuthenticated`", state: "`needsCredentials`")
        login.rules = #"{"classes": {"Item": {"read": true, "create": true}}}"#
        login.configure = { $0.sync?.credentials = .jwt("nobody's") }
        var attempts = ofSyncing("`attemptCountMax` attempts to connect have failed", "`unreachable`")
        attempts.configure = { $0.sync?.attemptCountMax = 1 }
        attempts.trigger = { server, store in
            await server.stop()
            try store.session?.start()
        }
        var reset = ofSyncing("the server has another history, and the mode is `manual`", "`resetRequired`")
        reset.configure = { $0.clientReset = ClientResetPolicy(.manual) }
        reset.trigger = { server, store in
            try store.session?.start()
            try await store.connected()
            try await server.restartWithoutData()
            try await server.settled()
        }
        var file = ofSyncing("the store's file has gone", "`storage`")
        file.configure = { $0.location = .file(NSTemporaryDirectory() + "final-\(UUID().uuidString)/store") }
        file.trigger = { server, store in
            try store.session?.start()
            try await store.connected()
            if case .file(let path) = store.core.configuration.location {
                try FileManager.default.removeItem(atPath: (path as NSString).deletingLastPathComponent)
            }
            server.clock.advance(by: .seconds(6))
            try await server.settled()
        }
        var query = Ending(
            title: "the server lacks the class of the query", connected: "returns", uploaded: "returns",
            synced: "`unknownName`", changes: "`unknownName`", state: "`active`")
        query.schema = (try? Schema([ClassSchema("Other", properties: [Property("n", .scalar(.int))])])) ?? Schema()
        query.configure = { $0.sync?.access = .readOnly }
        var stopped = Ending(
            title: "`session.stop()`, with nothing to upload", connected: "`stopped`", uploaded: "returns",
            synced: "`stopped`",
            changes: "go on", state: "`stopped`")
        stopped.trigger = { _, store in
            try store.session?.start()
            try await store.connected()
            try store.session?.stop()
        }
        var closed = Ending(
            title: "`store.close()`", connected: "`closed`", uploaded: "`closed`", synced: "`closed`",
            changes: "end", state: "`stopped`")
        closed.trigger = { _, store in await store.close() }
        return [schema, database, login, attempts, reset, file, query, stopped, closed]
    }()
}

@Suite(.timeLimit(.minutes(10))) struct FinalErrorTests {
    private func outcome(_ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return "returns"
        } catch let error as SyncError {
            return "`\(error.code)`"
        } catch let error as StoreError {
            return "`\(error.code)`"
        } catch is CancellationError {
            return "go on"
        } catch {
            return "\(error)"
        }
    }

    /// Begins a loop over the changes, and returns once it has had the first or has ended.
    private func looping(_ results: Results<Record>) async -> Task<String, Never> {
        let (begun, report) = AsyncStream<Void>.makeStream()
        let loop = Task {
            let said = await outcome { for try await _ in results.changes { report.yield() } }
            report.finish()
            return said == "returns" ? "end" : said
        }
        for await _ in begun { break }
        return loop
    }

    /// Everybody says the same, whether they began to observe before it came about or after.
    @Test(arguments: Ending.all, [true, false])
    private func everyEndIsTold(ending: Ending, observesBefore: Bool) async throws {
        let server = try TestServer(rules: ending.rules)
        if ending.rules == nil {
            let other = try await server.open(schema: Ending.item(.scalar(.int)))
            try await other.connected()
            await other.close()
        }
        let store = try await server.open(schema: ending.schema, database: ending.database) { configuration in
            configuration.startsSyncing = false
            ending.configure(&configuration)
            if case .file(let path) = configuration.location {
                try? FileManager.default.createDirectory(
                    atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            }
        }
        let session = try #require(store.session)
        let results = store.records(ofClass: try #require(ending.schema.classes.first).name)
        let told = Mutex<[String]>([])
        func observe() throws -> NotificationToken {
            try results.observe { _ in
            } onError: { error in
                // What has ended syncing shows in the status by then.
                let state = session.state
                if case .failed(let reason) = state { #expect(reason == error as? SyncError) }
                told.withLock { $0.append((error as? SyncError).map { "`\($0.code)`" } ?? "\(error)") }
            }
        }
        var (token, loop): (NotificationToken?, Task<String, Never>?)
        if observesBefore { (token, loop) = (try observe(), await looping(results)) }
        try await ending.trigger(server, store)
        #expect(await outcome { try await store.connected() } == ending.connected)
        #expect("`\(session.state.name)`" == ending.state)
        #expect(await outcome { try await store.uploaded() } == ending.uploaded)
        #expect(await outcome { _ = try await results.synced() } == ending.synced)
        if !observesBefore, ending.changes != "end" { (token, loop) = (try observe(), await looping(results)) }
        if store.core.isClosed { #expect(await outcome { _ = try observe() } == "`closed`") }
        try await server.settled()
        if ending.changes == "go on" { loop?.cancel() }
        if let loop { #expect(await loop.value == ending.changes) }
        let isError = ending.changes.hasPrefix("`")
        if token != nil { #expect(told.withLock { $0 } == (isError ? [ending.changes] : [])) }
        #expect("`\(session.state.name)`" == ending.state)
        token?.stop()
    }

    @Test func theTableOnThePageOfErrorsHasTheseRows() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../docs/errors.md")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
        let start = try #require(lines.firstIndex { $0.hasPrefix("| what has happened |") })
        #expect(Array(lines[(start + 2)...].prefix { $0.hasPrefix("|") }) == Ending.all.map(\.row))
    }

    @Test func anObserverGoesOnWhenSyncingBeginsAgain() async throws {
        let server = try TestServer()
        let store = try await server.open(schema: Ending.item(.scalar(.int))) { $0.sync?.attemptCountMax = 1 }
        try await store.connected()
        let states = Mutex<[SubscriptionState]>([])
        let errors = Mutex(0)
        let token = try store.records(ofClass: "Item").observe { change in
            states.withLock { $0.append(change.state) }
        } onError: { _ in
            errors.withLock { $0 += 1 }
        }
        try await server.settled()
        await server.stop()
        try await server.settled()
        #expect(states.withLock { $0.last } == .error && errors.withLock { $0 } == 1)
        try await store.write { try $0.insert(Record(store.schema.classes[0], ["key": .string("here")])) }
        try await server.settled()
        #expect(errors.withLock { $0 } == 1, "what is written here goes on, and the error is told once")
        try server.start()
        try store.session?.start()
        try await store.uploaded()
        try await server.settled()
        #expect(states.withLock { $0.last } == .complete)
        await server.stop()
        try await server.settled()
        #expect(errors.withLock { $0 } == 2, "an error that comes again is told again")
        token.stop()
    }

    @Test func theLastEventOfASequenceThatThrowsHasWhatIsHere() async throws {
        let server = try TestServer()
        let store = try await server.open(schema: Ending.item(.scalar(.int)), database: "no.such.name")
        try await store.write { try $0.insert(Record(store.schema.classes[0], ["key": .string("here")])) }
        var last: Change<Record>?
        let error = await #expect(throws: SyncError.self) {
            for try await change in store.records(ofClass: "Item").changes { last = change }
        }
        #expect(last?.results.count == 1 && last?.subscription.error == error)
        // Who wants no more than what is here is told of no server.
        var iterator = store.records(ofClass: "Item").cached().changes.makeAsyncIterator()
        #expect(try await iterator.next()?.state == .pending)
    }
}

extension SessionStatus.State {
    fileprivate var name: String {
        switch self {
        case .active: "active"
        case .paused: "paused"
        case .stopped: "stopped"
        case .needsCredentials: "needsCredentials"
        case .failed: "failed"
        }
    }
}
