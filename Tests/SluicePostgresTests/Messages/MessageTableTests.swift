#if PostgreSQL

import SluiceModel
import SluiceStorage
import Synchronization
import TestSupport
import Testing

@testable import SluicePostgres

/// Ephemeral messages between nodes, without what they say.
struct MessageTableTests {
    /// What a node hears, and a database that it has open.
    private final class Ear: Sendable {
        let node: PostgresJournals
        private let journals: [any Journal & Sendable]
        private let frames = Mutex<[String: [[UInt8]]]>([:])

        init(_ node: PostgresJournals, _ databases: [String] = ["planes"]) throws {
            self.node = node
            journals = try databases.map { try node.open($0) }
            node.messages.receive { [weak self] frames, database in
                self?.frames.withLock { $0[database, default: []] += frames }
            }
            node.watch { _ in }
        }

        func heard(in database: String = "planes") -> [[UInt8]] { frames.withLock { $0[database] ?? [] } }

        func send(_ frames: [[UInt8]], in database: String = "planes") {
            node.messages.send(frames, inDatabase: database)
        }
    }

    private let database: TestDatabase

    init() async throws { database = try await PostgresServer.shared.value.database() }

    private func waitForNodes(_ count: Int64) async throws {
        try await wait(for: "the nodes to live") { try database.number("SELECT count(*) FROM sluice.node") == count }
        try await database.waitForListeners(count)
    }

    /// Waits until a node has sent messages, or tried to.
    private func waitForSending() async throws {
        let sent = """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle'
              AND query LIKE 'WITH sent%'
            """
        try await wait(for: "messages to be sent") { try database.number(sent) > 0 }
    }

    private func frame(_ sender: UInt8, _ number: Int) -> [UInt8] { [sender, UInt8(number >> 8), UInt8(number & 255)] }

    @Test(arguments: [false, true])
    func `each node hears what the others send once, in the order of each, and nothing of its own`(
        asks: Bool
    ) async throws {
        func node(_ name: String) throws -> Ear {
            try Ear(database.node(name, listenURL: asks ? "none" : nil) { $0.pollActive = .milliseconds(5) })
        }
        let ears = [try node("a"), try node("b node"), try node("c")]
        defer { for ear in ears { ear.node.stop() } }
        try await waitForNodes(3)
        let count = 700
        await withTaskGroup(of: Void.self) { group in
            for (number, ear) in ears.enumerated() {
                group.addTask {
                    for message in 0..<count { ear.send([frame(UInt8(number), message)]) }
                }
            }
        }
        for (number, ear) in ears.enumerated() {
            try await wait(for: "all messages of the others") { ear.heard().count >= 2 * count }
            for sender in ears.indices {
                let heard = ear.heard().filter { $0[0] == UInt8(sender) }
                #expect(heard == (sender == number ? [] : (0..<count).map { frame(UInt8(sender), $0) }))
            }
        }
    }

    @Test func `messages of a database reach the nodes that have it open, large ones too`() async throws {
        let reader = try Ear(database.node("reader"), ["boats"])
        let writer = try Ear(database.node("writer"), ["planes", "boats"])
        defer { for ear in [reader, writer] { ear.node.stop() } }
        try await waitForNodes(2)
        let large = [UInt8](repeating: 7, count: 20_000)
        writer.send([frame(1, 1)], in: "planes")
        writer.send([large, []], in: "boats")
        writer.send([frame(1, 2)], in: "nobody has it")
        writer.send([frame(1, 3)], in: "boats")
        try await wait(for: "the messages of boats") { reader.heard(in: "boats").count == 3 }
        #expect(reader.heard(in: "boats") == [large, [], frame(1, 3)] && reader.heard().isEmpty)
        #expect(writer.heard(in: "boats").isEmpty && writer.heard().isEmpty)
    }

    @Test func `a node alone stores no messages, and old ones are deleted by any`() async throws {
        let alone = try Ear(database.node("alone") { $0.heartbeat = .seconds(1_000) })
        try await waitForNodes(1)
        alone.send([frame(1, 1)])
        try await waitForSending()
        #expect(try database.number("SELECT count(*) FROM sluice.message") == 0)
        try database.run(
            """
            INSERT INTO sluice.message (database, node, bytes, at)
            SELECT 1, 'gone', '', clock_timestamp() - interval '11 s' FROM generate_series(1, 100)
            """)
        // Any node deletes them, such as one that begins.
        alone.node.stop()
        let next = try Ear(database.node("next"))
        defer { next.node.stop() }
        try await wait(for: "the old messages to go") {
            try database.number("SELECT count(*) FROM sluice.message") == 0
        }
    }

    @Test func `what does not fit is lost, and what comes after is not`() async throws {
        let (reader, writer) = (try Ear(database.node("reader")), try Ear(database.node("writer")))
        defer { for ear in [reader, writer] { ear.node.stop() } }
        try await waitForNodes(2)
        // The table is full, as far as anybody can tell.
        try database.run("INSERT INTO sluice.message (database, node, bytes) VALUES (999, 'x', '')")
        try database.run("ALTER SEQUENCE sluice.message_id_seq RESTART WITH 200000")
        try database.run("INSERT INTO sluice.message (database, node, bytes) VALUES (999, 'x', '')")
        writer.send([frame(1, 1)])
        try await waitForSending()
        try database.run("TRUNCATE sluice.message")
        writer.send([frame(1, 2)])
        try await wait(for: "the second message") { !reader.heard().isEmpty }
        #expect(reader.heard() == [frame(1, 2)])
    }

    @Test func `after the connections were cut, messages come again, each once`() async throws {
        let reader = try Ear(
            database.node("reader") {
                $0.reconnectMin = .milliseconds(1)
                $0.reconnectMax = .milliseconds(10)
            })
        let writer = try Ear(database.node("writer"))
        defer { for ear in [reader, writer] { ear.node.stop() } }
        try await waitForNodes(2)
        for round in 1...3 {
            // One may be lost while nobody listens.
            var sent = round * 1_000
            let before = reader.heard().count
            try await wait(for: "a message after \(round - 1) cuts") {
                writer.send([frame(UInt8(round), sent)])
                sent += 1
                return reader.heard().count > before
            }
            // Numbers begin anew after a crash.
            try database.run("TRUNCATE sluice.message RESTART IDENTITY")
            try database.killBackends()
        }
        #expect(Set(reader.heard()).count == reader.heard().count)
        #expect(Set(reader.heard().map { $0[0] }) == [1, 2, 3])
    }
}

#endif
