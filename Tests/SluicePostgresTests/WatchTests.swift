#if PostgreSQL

import Foundation
import SluiceModel
import SluiceStorage
import Synchronization
import TestSupport
import Testing

@testable import SluicePostgres

struct WatchTests {
    /// The names that a node has heard.
    private final class Ear: Sendable {
        private let names = Mutex<[String]>([])
        var heard: [String] { names.withLock { $0 } }
        var hear: @Sendable (JournalNews) -> Void {
            { news in if case .grew(let name) = news { self.names.withLock { $0.append(name) } } }
        }
        func waitFor(_ name: String, count: Int = 1) async throws {
            try await wait(for: "a bell of \(name)") { heard.count { $0 == name } >= count }
        }
    }

    private let database: TestDatabase
    private let ear = Ear()

    init() async throws { database = try await PostgresServer.shared.value.database() }

    /// Makes questions so rare that only a bell can be the reason.
    private static func asksNever(_ timeouts: inout PostgresTimeouts) {
        timeouts.pollActive = .seconds(1_000)
        timeouts.pollQuiet = .seconds(1_000)
    }

    @Test func `a node hears of what another appends, and not of its own`() async throws {
        let reader = try database.node("reader", Self.asksNever)
        let writer = try database.node("writer", Self.asksNever)
        defer { for node in [reader, writer] { node.stop() } }
        let (planes, boats) = (try reader.open(), try reader.open("boats"))
        reader.watch(ear.hear)
        writer.watch { _ in }
        try await database.waitForListeners(2)
        // Who has connected may have missed something of each.
        for name in ["planes", "boats"] { try await ear.waitFor(name) }
        let other = try writer.open()
        let head = try other.appendAll([1])
        try await ear.waitFor("planes", count: 2)
        #expect(try planes.end() == head)
        try boats.appendAll([1])
        // After its own bell came the other's.
        try other.appendAll([2], after: head)
        try await ear.waitFor("planes", count: 3)
        #expect(ear.heard.count { $0 == "boats" } == 1)
    }

    @Test func `a node that was not seen for a month is forgotten`() async throws {
        let node = try database.node("here") { $0.heartbeat = .milliseconds(5) }
        defer { node.stop() }
        node.watch { _ in }
        try await wait(for: "the node to live") { try database.number("SELECT count(*) FROM sluice.node") == 1 }
        try database.run(
            """
            INSERT INTO sluice.node (name, run, version, format, seen, state) VALUES
              ('long away', '', '1', 1, clock_timestamp() - interval '31 days', '{}'),
              ('away', '', '1', 1, clock_timestamp() - interval '29 days', '{}')
            """)
        try await wait(for: "the node that is long away to be forgotten") {
            try database.number("SELECT count(*) FROM sluice.node WHERE name = 'long away'") == 0
        }
        #expect(try database.number("SELECT count(*) FROM sluice.node WHERE name IN ('here', 'away')") == 2)
    }

    @Test func `a journal that nobody has open is not heard of`() async throws {
        let reader = try database.node("reader", Self.asksNever)
        let writer = try database.node("writer", Self.asksNever)
        defer { for node in [reader, writer] { node.stop() } }
        let kept = try reader.open("boats")
        do { _ = try reader.open() }
        reader.watch(ear.hear)
        writer.watch { _ in }
        try await database.waitForListeners(2)
        try await ear.waitFor("boats")
        try writer.open().appendAll([1])
        try writer.open("boats").appendAll([1])
        try await ear.waitFor("boats", count: 2)
        #expect(!ear.heard.contains("planes"))
        _ = kept
    }

    @Test(arguments: ["none", nil])
    func `where a bell is lost, questions find what it was about`(listen: String?) async throws {
        let reader = try database.node("reader", listenURL: listen) {
            $0.pollActive = .milliseconds(5)
            $0.pollQuiet = .milliseconds(5)
        }
        // Without a watch this node rings no bell.
        let writer = try database.node("writer")
        defer { for node in [reader, writer] { node.stop() } }
        let planes = try reader.open()
        reader.watch(ear.hear)
        let head = try writer.open().appendAll([1, 2])
        // It is told again until it heeds.
        try await ear.waitFor("planes", count: 4)
        #expect(try planes.end() == head)
    }

    @Test func `after the connections were cut, a node listens again and hears what it missed`() async throws {
        let proxy = try Proxy(to: database.port)
        let reader = try database.node("reader", port: proxy.port) {
            Self.asksNever(&$0)
            $0.reconnectMin = .milliseconds(1)
            $0.reconnectMax = .milliseconds(10)
        }
        let writer = try database.node("writer", Self.asksNever)
        defer {
            for node in [reader, writer] { node.stop() }
            proxy.stop()
        }
        let planes = try reader.open()
        reader.watch(ear.hear)
        try await database.waitForListeners(1)
        try await ear.waitFor("planes")
        proxy.mode = .refuses
        proxy.cut()
        let head = try writer.open().appendAll([1])
        proxy.mode = .forwards
        try await ear.waitFor("planes", count: 2)
        #expect(try planes.end() == head)
    }

    @Test func `a node hears that its journal has lost groups, also when it connects again`() async throws {
        let reader = try database.node("reader") {
            $0.pollActive = .milliseconds(5)
            $0.pollQuiet = .milliseconds(5)
            $0.reconnectMin = .milliseconds(1)
            $0.reconnectMax = .milliseconds(10)
        }
        defer { reader.stop() }
        let planes = try reader.open()
        let head = try planes.appendAll([1, 2, 3])
        reader.watch(ear.hear)
        try await ear.waitFor("planes")
        // It has all, so it is told of nothing.
        try database.run("DELETE FROM sluice.journal WHERE position = 3")
        try await ear.waitFor("planes", count: 2)
        #expect(try !planes.continues(head))
        // Another group in the place of the lost one has the position that the node has.
        let other = try database.node("writer").open()
        let lost = try #require(try other.records(after: 1, countMax: 1).first).head
        try other.appendAll([4], after: lost)
        let count = ear.heard.count
        try database.killBackends()
        try await ear.waitFor("planes", count: count + 1)
        #expect(try !planes.continues(head))
    }

    @Test func `a node's row says that it is alive and where its databases are`() async throws {
        let log = Mutex<[String]>([])
        let sink = LogSink(level: .warning) { line in log.withLock { $0.append(line.description) } }
        let node = try database.node("one") { $0.heartbeat = .milliseconds(10) }
        defer { node.stop() }
        let journal = try node.open()
        node.watch { _ in }
        try journal.appendAll(1...3)
        func status() throws -> ClusterStatus { try PostgresCluster.status(database.url) }
        try await wait(for: "the positions of the node") { try status().nodes.first?.positions == ["planes": 3] }
        let found = try status()
        #expect(found.nodes.map(\.name) == ["one"] && found.nodes[0].isAlive)
        #expect(found.databases.map(\.name) == ["planes"] && found.databases[0].position == 3)
        #expect(found.lag(of: found.nodes[0], in: found.databases[0]) == 0)
        #expect(found.text.contains("node one: alive") && found.text.contains("planes: position 3"))
        #expect(try JSONDecoder().decode(ClusterStatus.self, from: Data(found.json.utf8)) == found)
        // A second one of the name is told, and the row stays that of the first.
        let other = try database.node("one", log: sink) { $0.heartbeat = .milliseconds(10) }
        defer { other.stop() }
        other.watch { _ in }
        try await wait(for: "a warning") { log.withLock { $0.contains { $0.contains("has the name of this one") } } }
        #expect(try status().nodes.map(\.positions) == [["planes": 3]])
    }
}

#endif
