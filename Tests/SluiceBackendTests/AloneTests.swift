import SluiceBackend
import SluiceTesting
import Synchronization
import TestSupport
import Testing

@testable import SluiceServer
@testable import SluiceStorage

/// Tasks that run on one server at a time.
struct AloneTests {
    /// What tasks did, in order.
    private final class Diary: Sendable {
        private let lines = Mutex<[String]>([])

        var all: [String] { lines.withLock { $0 } }

        func note(_ line: String) { lines.withLock { $0.append(line) } }
    }

    private let diary = Diary()

    /// A task that runs until it is cancelled.
    private func begin(on node: Int, of cluster: TestCluster) async throws -> Task<Void, any Error> {
        let database = try await cluster[node].database("test", models: models)
        return Task { [diary] in
            try await database.alone("mailer") { lease in
                diary.note("begins on \(node)")
                defer { diary.note("ends on \(node)") }
                while true {
                    try Task.checkCancellation()
                    await Task.yield()
                }
            }
        }
    }

    private func wait(for line: String) async throws {
        while !diary.all.contains(line) {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    @Test func `one of three nodes runs the task, and another when that is killed`() async throws {
        let cluster = try TestCluster(nodes: 3)
        let first = try await begin(on: 1, of: cluster)
        try await wait(for: "begins on 1")
        let second = try await begin(on: 2, of: cluster)
        for _ in 0..<30 { try await cluster.advance(by: .seconds(2)) }
        #expect(diary.all == ["begins on 1"])
        await cluster.kill(1)
        // Fifteen seconds, in steps in which questions are answered.
        for _ in 0..<15 { try await cluster.advance(by: .seconds(1)) }
        try await wait(for: "begins on 2")
        first.cancel()
        second.cancel()
        _ = await (first.result, second.result)
    }

    @Test func `a node that cannot renew its lease ends the task, and runs it again later`() async throws {
        let cluster = try TestCluster(nodes: 2)
        let task = try await begin(on: 1, of: cluster)
        try await wait(for: "begins on 1")
        cluster.cut(1)
        while !diary.all.contains("ends on 1") {
            cluster.clock.advance(by: .seconds(1))
            await Task.yield()
        }
        cluster.mend(1)
        while diary.all.count < 3 {
            cluster.clock.advance(by: .seconds(1))
            await Task.yield()
        }
        #expect(diary.all == ["begins on 1", "ends on 1", "begins on 1"])
        task.cancel()
        _ = await task.result
    }

    @Test func `what a task writes whose lease is over is not stored`() async throws {
        let cluster = try TestCluster(nodes: 2)
        let database = try await cluster[1].database("test", models: models)
        let other = try await cluster[2].database("test", models: models)
        let (taken, take) = AsyncStream.makeStream(of: Lease.self)
        let (released, release) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await database.alone("mailer") { lease in
                try await lease.database.write { try $0.insert(Flight(id: "before")) }
                take.yield(lease)
                // It does not end when it is cancelled.
                await Task.detached { for await _ in released { return } }.value
            }
        }
        var leases = taken.makeAsyncIterator()
        let lease = try #require(await leases.next())
        #expect(lease.isHeld)
        // The process stands still for longer than a lease lasts, and another takes it.
        cluster.cut(1)
        cluster.clock.advance(by: .seconds(11))
        cluster.mend(1)
        #expect(!lease.isHeld)
        let term = try await other.alone("mailer") { lease in
            try await lease.database.write { try $0.insert(Flight(id: "elsewhere")) }
            return lease.term
        }
        #expect(lease.term == 1 && term == 2)
        let error = await #expect(throws: ServerError.self) {
            try await lease.database.write { try $0.insert(Flight(id: "late")) }
        }
        #expect(error?.code == .dutyLost)
        release.yield()
        try await task.value
        let ids = try await other.objects(Flight.self).fetch().map(\.id).sorted()
        #expect(ids == ["before", "elsewhere"])
    }

    @Test func `on a server alone tasks of one name run one after the other`() async throws {
        let server = try TestServer()
        let database = try await server.database("test", models: models)
        let diary = diary
        let terms = try await withThrowingTaskGroup(of: UInt64.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await database.alone("mailer") { lease in
                        diary.note("begins")
                        for _ in 0..<20 { await Task.yield() }
                        diary.note("ends")
                        return lease.term
                    }
                }
            }
            var terms: [UInt64] = []
            for try await term in group { terms.append(term) }
            return terms
        }
        #expect(Set(terms).count == 8)
        #expect(diary.all == Array(repeating: ["begins", "ends"], count: 8).flatMap(\.self))
    }

    @Test func `a task that waits ends when it is cancelled, or the server stops`() async throws {
        let server = try TestServer()
        let database = try await server.database("test", models: models)
        try await database.alone("mailer") { _ in
            let waiting = Task { try await database.alone("mailer") { _ in } }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            try await database.alone("another") { _ in }
        }
        await server.stop()
        await #expect(throws: ServerError.self) { try await database.alone("mailer") { _ in } }
    }

    @Test func `what a task throws is thrown, and the lease is free`() async throws {
        struct Failure: Error {}
        let cluster = try TestCluster(nodes: 2)
        let database = try await cluster[1].database("test", models: models)
        await #expect(throws: Failure.self) { try await database.alone("mailer") { _ in throw Failure() } }
        let other = try await cluster[2].database("test", models: models)
        #expect(try await other.alone("mailer") { $0.term } == 2)
    }
}
