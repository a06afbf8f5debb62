#if PostgreSQL

import Foundation
import Glibc
import Sluice
import SluiceModel
import TestSupport
import Testing

@testable import SluicePostgres

/// Three nodes, a primary and its synchronous standby, each of which may be killed at any time.
struct RandomKillTests {
    /// The two servers that PostgreSQL is, of which the second takes over where the first ends for good.
    private struct Pair {
        var primary: PostgresServer
        var standby: PostgresServer

        init() async throws {
            primary = try await PostgresServer()
            standby = try await PostgresServer(standbyOf: primary, at: primary.port)
            try await primary.waitForStandby()
        }

        /// Promotes the standby, in the place of a primary that was killed, and gives it a standby of its own.
        mutating func failOver(_ lead: (PostgresServer) async throws -> Void) async throws {
            try await standby.promote()
            try await lead(standby)
            try await primary.discard()
            primary = standby
            standby = try await PostgresServer(standbyOf: primary, at: primary.port)
            try await primary.waitForStandby()
        }

        func stop() async throws { for server in [standby, primary] { try await server.stop() } }
    }

    private enum Victim: CaseIterable {
        case node, primary, standby, primaryForGood, nodeAndPrimary
    }

    /// Where in a commit of a node something is killed.
    private enum Moment: CaseIterable {
        /// Wherever the writers are when they have got on.
        case any
        /// The append is sent, and has not arrived.
        case beforeAppend
        /// The group is there, and its node does not know.
        case afterAppend

        /// Waits until a node is there.
        func reach(by node: NodeProcess) async throws {
            switch self {
            case .any: return
            case .beforeAppend: try await node.proxy.reach(.append)
            case .afterAppend: try await node.proxy.reach(.appended)
            }
        }
    }

    @Test func `kill -9 of nodes, the primary and its standby at random loses nothing and repeats nothing`()
        async throws
    {
        let seed = ProcessInfo.processInfo.environment["SLUICE_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...99_999)
        var generator = SeededGenerator(seed: seed)
        var pair = try await Pair()
        var counts: [Victim: Int] = [:]
        try await NodeCluster.with(on: pair.primary) { cluster in
            var cluster = cluster
            let writers = try await cluster.writers()
            // Watchers only observe; each prefers another node.
            var watchers: [LedgerWriter] = []
            for position in cluster.nodes.indices {
                watchers.append(try await LedgerWriter(10 + position, cluster.urls(from: position)))
            }
            try await writers.whileWriting {
                for _ in NodeCluster.kills(6) {
                    try await writers.getOn(by: 1)
                    let victim = Victim.allCases.randomElement(using: &generator) ?? .node
                    let moment = Moment.allCases.randomElement(using: &generator) ?? .any
                    // One at which somebody writes.
                    let node = try cluster.lastAuthor()
                    counts[victim, default: 0] += 1
                    try await moment.reach(by: node)
                    defer { node.proxy.mode = .forwards }
                    switch victim {
                    case .node:
                        try await node.kill()
                        node.proxy.mode = .forwards
                        try await writers.getOn(by: 1)
                        try await node.start()
                    case .standby:
                        // Nothing is acknowledged until it is there again.
                        try await pair.standby.kill()
                        node.proxy.mode = .forwards
                        try await pair.standby.start()
                    case .primary:
                        try await pair.primary.kill()
                        try await pair.primary.start()
                    case .primaryForGood:
                        try await pair.primary.kill()
                        try await pair.failOver { cluster = cluster.led(to: $0) }
                    case .nodeAndPrimary:
                        node.signal(SIGKILL)
                        try await pair.primary.kill()
                        try await pair.failOver { cluster = cluster.led(to: $0) }
                        try await node.restart()
                    }
                }
                try await writers.getOn()
            }
            for writer in writers { try await writer.acknowledge() }
            for watcher in watchers {
                try await watcher.shows(writers.names)
                #expect(watcher.resetCount == 0)
                await watcher.store.close()
            }
            try await cluster.checkAgreement(writers)
            let kills = counts.map { "\($0.key) \($0.value)" }.sorted().joined(separator: ", ")
            print("seed \(seed), killed: \(kills); \(writers.names.count) transactions")
        }
        try await pair.stop()
    }
}

#endif
