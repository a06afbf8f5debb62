import CSQLite
import SluiceBackend
import SluiceTesting
import Synchronization
import TestSupport
import Testing

@testable import SluiceServer
@testable import SluiceStorage

/// What the servers of a cluster do for their replicas: snapshots, trims, comparisons, and what a server makes of them
/// that was away.
struct ReplicaUpkeepTests {
    private let log = LogLines()
    private let cluster: TestCluster

    init() throws { cluster = try TestCluster(nodes: 3, log: log.sink) }

    /// Has a node make a snapshot that is proved.
    private func snapshot() async throws {
        let snapshots = cluster.journals.snapshots
        try snapshots.request(.snapshot, ofDatabase: "test")
        try await cluster.settled()
    }

    private var proved: [Snapshot] {
        get throws { try cluster.journals.snapshots.snapshots(ofDatabase: "test").filter(\.isProved) }
    }

    /// Changes the replica of a node behind its back.
    private func alter(_ sql: String, on node: Int) throws {
        var handle: OpaquePointer?
        try #require(sqlite3_open("\(cluster[node].folder)/test.sluicedb", &handle) == SQLITE_OK)
        defer { sqlite3_close(handle) }
        try #require(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
        try #require(sqlite3_changes(handle) == 1)
    }

    private func add(_ ids: ClosedRange<Int>, in store: Store) async throws {
        for id in ids {
            try await store.write { try $0.insert(Flight(id: "F\(id)")) }
            try await store.uploaded()
        }
    }

    @Test func `a node that was away until the journal was trimmed begins with a snapshot, and its stores go on`()
        async throws
    {
        let writer = try await cluster.open(models, on: 1)
        let reader = try await cluster.open(models, on: 3)
        let recorder = try EventRecorder(reader.objects(Flight.self))
        try await recorder.complete()
        try await add(1...3, in: writer)
        try await cluster.settled()
        await cluster.kill(3)
        for round in 1...3 {
            try await add((10 * round)...(10 * round + 3), in: writer)
            try await snapshot()
        }
        #expect(try proved.count == 2)
        let journal = cluster.journals.root(ofDatabase: "test")
        #expect(try journal.records.first?.head.position == proved[1].head.position)
        #expect(throws: StorageError.self) { try journal.records(after: 0, countMax: 1) }
        try await cluster.restart(3)
        cluster.route(reader, to: 3)
        try await cluster.advance(by: .seconds(30))
        try await add(50...50, in: writer)
        try await recorder.event { $0.results.contains { $0.id == "F50" } }
        #expect(try await reader.objects(Flight.self).synced().count == 16)
        #expect(cluster[3].connectionCount == 1)
        #expect(log.messages.contains("a database was made of a snapshot"))
        // Each flight came once.
        #expect(recorder.events.filter { !$0.isInitial }.reduce(0) { $0 + $1.insertions.count } == 16)
    }

    @Test func `a node that falls behind a trim while it runs makes its replica anew`() async throws {
        let writer = try await cluster.open(models, on: 1)
        let reader = try await cluster.open(models, on: 2)
        _ = try await reader.objects(Flight.self).synced()
        cluster.cut(2)
        for round in 1...3 {
            try await add((10 * round)...(10 * round + 3), in: writer)
            try await snapshot()
        }
        cluster.mend(2)
        try await cluster.advance(by: .seconds(30))
        #expect(try await reader.objects(Flight.self).synced().count == 12)
        #expect(log.messages.contains("a database was made of a snapshot"))
    }

    @Test func `a new node loads the newest snapshot that is proved, and another if that cannot be used`() async throws
    {
        let writer = try await cluster.open(models, on: 1)
        for round in 1...3 {
            try await add((10 * round)...(10 * round + 3), in: writer)
            try await snapshot()
        }
        let damaged = try #require(try proved.first)
        cluster.journals.damage(damaged)
        let reader = try await cluster.open(models, on: 2)
        #expect(try await reader.objects(Flight.self).synced().count == 12)
        #expect(log.messages.contains("a snapshot cannot be used"))
    }

    @Test func `a replica that is otherwise is found, and the snapshot is not used`() async throws {
        let writer = try await cluster.open(models, on: 1)
        let reader = try await cluster.open(models, on: 2)
        try await add(1...2, in: writer)
        #expect(try await reader.objects(Flight.self).synced().count == 2)
        try await cluster.settled()
        try alter("UPDATE o_Flight SET p_delay = 77 WHERE p_id = 'F1'", on: 2)
        try await snapshot()
        #expect(try proved.isEmpty)
        #expect(log.messages.contains("replicas differ, so a snapshot is not used"))
    }

    @Test func `snapshots are made by themselves once the journal has enough, by one node`() async throws {
        var policy = ReplicaPolicy()
        policy.snapshotByteCount = 1_000
        let cluster = try TestCluster(nodes: 3, log: log.sink, replicas: policy)
        let stores = [try await cluster.open(models, on: 1), try await cluster.open(models, on: 2)]
        for round in 0..<6 {
            try await stores[round % 2].write { transaction in
                for id in 0..<100 { try transaction.insert(Flight(id: "F\(round) \(id)")) }
            }
            try await cluster.settled()
            try await cluster.advance(by: .seconds(11))
        }
        let made = log.messages.count { $0 == "a snapshot was made" }
        #expect(made >= 2 && made <= 6, "\(made)")
        #expect(!log.messages.contains("replicas differ, so a snapshot is not used"))
        #expect(try cluster.journals.snapshots.snapshots(ofDatabase: "test").allSatisfy(\.isProved))
    }

    @Test func `an administrator has replicas compared`() async throws {
        let stores = [try await cluster.open(models, on: 1), try await cluster.open(models, on: 2)]
        try await add(1...2, in: stores[0])
        try await cluster.settled()
        try cluster.journals.snapshots.request(.comparison, ofDatabase: "test")
        try await cluster.settled()
        let position = cluster.journals.root(ofDatabase: "test").head.position
        let digests = try cluster.journals.snapshots.digests(at: position, ofDatabase: "test")
        #expect(digests.count == 2)
        #expect(Set(digests.map(\.digest)).count == 1)
        // A server has the database open as long as somebody is connected.
        withExtendedLifetime(stores) {}
    }
}
