#if PostgreSQL

import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import TestSupport
import Testing

@testable import SluicePostgres

/// Two engines with sessions on a real PostgreSQL.
struct TwoEngineTests {
    private let database: TestDatabase
    private let first: EngineNode
    private let second: EngineNode

    init() async throws {
        database = try await PostgresServer.shared.value.database()
        first = try EngineNode(database.node("first"), seed: 1_000)
        second = try EngineNode(database.node("second"), seed: 2_000)
    }

    private func checkAgreement(seats: Int64) throws {
        for node in [first, second] {
            try node.follow()
            let end = try node.journal.end()
            #expect(node.storage.head == end)
            #expect(try node.seats == .int(seats))
        }
        for client in UInt64(1)...4 {
            let (here, there) = try (first.storage.client(client), second.storage.client(client))
            #expect(here == there)
        }
    }

    @Test func `two clients on two nodes get two ids, and both of their writes count`() throws {
        let ann = try first.open()
        let ben = try second.open()
        #expect(ann.opened.identity.clientID != ben.opened.identity.clientID)
        for sequence in 1...20 as ClosedRange<UInt64> {
            #expect(try first.addSeat(ann.id, sequence) == [sequence])
            #expect(try second.addSeat(ben.id, sequence) == [sequence])
        }
        try checkAgreement(seats: 40)
    }

    @Test func `a client that moves is the same client, and what it uploads again counts once`() throws {
        let here = try first.open()
        try first.addSeat(here.id, 1)
        let there = try second.open(here.opened.identity)
        #expect(there.opened.outcome == .resumed && there.opened.acknowledged == 1)
        try second.addSeat(there.id, 1)
        try second.addSeat(there.id, 2)
        try checkAgreement(seats: 2)
    }

    @Test func `a write whose answer is lost counts once`() async throws {
        let proxy = try Proxy(to: database.port)
        defer { proxy.stop() }
        let node = try EngineNode(
            database.node("third", port: proxy.port) {
                $0.patience = .seconds(100)
                $0.reconnectMax = .milliseconds(20)
            }, seed: 3_000)
        let client = try node.open()
        for sequence in 1...10 as ClosedRange<UInt64> {
            proxy.cut()
            #expect(try node.addSeat(client.id, sequence) == [sequence])
        }
        try checkAgreement(seats: 10)
    }

    /// As after a failover: PostgreSQL may lack groups that the nodes have.
    @Test func `after another history the next write begins an epoch, which ends the sessions of both nodes`() throws {
        let ann = try first.open()
        let ben = try second.open()
        try first.addSeat(ann.id, 1)
        try second.follow()
        try database.run("UPDATE sluice.database SET history = '1/00000001/1'")
        let before = first.storage.epoch
        func endings(_ messages: [ServerMessage]) -> [ErrorCode] {
            messages.compactMap { if case .error(let failure) = $0 { failure.code } else { nil } }
        }
        #expect(try endings(first.answers(toAddingSeat: 2, ann.id)) == [.historyChanged])
        #expect(first.storage.epoch != before)
        #expect(try endings(second.follow()) == [.historyChanged])
        #expect(second.storage.epoch == first.storage.epoch)
        // The client comes back with what it has; its write, which nobody has taken, comes with it.
        let again = try second.open(ann.opened.identity)
        #expect(again.opened.outcome == .resumed && again.opened.acknowledged == 1)
        #expect(try second.addSeat(again.id, 2) == [2])
        #expect(ben.opened.identity.clientID == 2)
        try checkAgreement(seats: 2)
    }

    @Test func `both write at the same time, and nothing is lost`() async throws {
        // Each engine is used by one thread.
        nonisolated(unsafe) let nodes = [first, second]
        let ids = try nodes.map { try $0.open().id }
        try await withThrowingTaskGroup { group in
            for index in 0..<2 {
                group.addTask {
                    try await blocking {
                        for sequence in 1...100 as ClosedRange<UInt64> {
                            let acknowledged = try nodes[index].addSeat(ids[index], sequence)
                            #expect(acknowledged == [sequence])
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        try checkAgreement(seats: 200)
    }
}

#endif
