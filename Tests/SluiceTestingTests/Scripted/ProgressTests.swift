import Sluice
import SluiceModel
import SluiceTesting
import Synchronization
import Testing

/// A wait with a time-out is prolonged by new rows and by nothing else.
@Suite(.timeLimit(.minutes(5))) struct ProgressTests {
    private let clock = ManualClock()
    private let schema: Schema

    init() throws {
        schema = try Schema([
            ClassSchema(
                "User", primaryKey: "id", properties: [Property("id", .scalar(.int)), Property("age", .scalar(.int))])
        ])
    }

    private func store(_ server: ScriptedServer) async throws -> Store {
        var configuration = StoreConfiguration(schema: schema, sync: SyncConfiguration(url: "ws://server/test"))
        configuration.environment.now = { [clock] in clock.timestamp }
        configuration.environment.schedule = { [clock] delay, body in clock.schedule(after: delay, body) }
        configuration.environment.scheduleUpkeep = { [clock] delay, body in
            clock.schedule(after: delay, isUpkeep: true, body)
        }
        configuration.environment.connect = { _, delegate in server.connect(delegate) }
        return try await Store.open(configuration)
    }

    /// Waits for all users, while the clock moves on by 10 s after each lost connection.
    private func wait(for server: ScriptedServer, connectionsMax: Int) async throws -> Result<Int, any Error>? {
        let store = try await store(server)
        let outcome = Mutex<Result<Int, any Error>?>(nil)
        let waiting = Task {
            let result: Result<Int, any Error>
            do { result = .success(try await store.records("User").synced(timeout: .seconds(30)).count) } catch {
                result = .failure(error)
            }
            outcome.withLock { $0 = result }
        }
        while server.connectionCount < connectionsMax, outcome.withLock({ $0 == nil }) {
            // The time-out and the next attempt to connect each set a timer.
            if clock.timerCount >= 2 { clock.advance(by: .seconds(10)) } else { await Task.yield() }
        }
        let end = outcome.withLock { $0 }
        waiting.cancel()
        await waiting.value
        await store.close()
        return end
    }

    @Test func theSameRowsAgainOnEveryConnectionAreNoProgress() async throws {
        let server = ScriptedServer(schema) { _ in ((1...2).map { ScriptedSession.user($0, age: 1) }, false) }
        let end = try await wait(for: server, connectionsMax: 30)
        guard case .failure(let error as SyncError)? = end else {
            Issue.record("it waits for ever: \(String(describing: end))")
            return
        }
        #expect(error.code == .timedOut)
    }

    @Test func moreRowsOnEveryConnectionAreProgress() async throws {
        let server = ScriptedServer(schema) { connection in
            ((1...Int64(connection)).map { ScriptedSession.user($0, age: 1) }, connection == 20)
        }
        let end = try await wait(for: server, connectionsMax: 30)
        #expect(try end?.get() == 20)
    }
}
