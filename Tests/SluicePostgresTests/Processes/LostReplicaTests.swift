#if PostgreSQL

import Foundation
import Sluice
import TestSupport
import Testing

@testable import SluicePostgres

/// A node whose replica is gone, or another, when it starts: it serves again without help.
struct LostReplicaTests {
    private enum Loss: CaseIterable {
        case deleted, emptied, garbage, halved, ofAnotherDatabase, ofAnotherCluster, older

        /// Whether what was there is kept beside the new replica.
        var setsAside: Bool { [.garbage, .halved, .ofAnotherDatabase, .ofAnotherCluster].contains(self) }
    }

    /// Damages a replica whose node does not run.
    private func inflict(
        _ loss: Loss, on node: NodeProcess, older: String, foreign: String, ofAnotherCluster other: String
    ) throws {
        let files = FileManager.default
        let replica = node.replica()
        func removeLog() throws {
            for suffix in ["-wal", "-shm"] where files.fileExists(atPath: replica + suffix) {
                try files.removeItem(atPath: replica + suffix)
            }
        }
        func replace(by path: String) throws {
            try removeLog()
            try files.removeItem(atPath: replica)
            try files.copyItem(atPath: path, toPath: replica)
        }
        switch loss {
        case .deleted:
            try removeLog()
            try files.removeItem(atPath: replica)
        case .emptied:
            try removeLog()
            try Data().write(to: URL(fileURLWithPath: replica))
        case .garbage:
            try removeLog()
            try Data((0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }).write(to: URL(fileURLWithPath: replica))
        case .halved:
            try removeLog()
            let bytes = try Data(contentsOf: URL(fileURLWithPath: replica))
            try bytes.prefix(bytes.count / 2).write(to: URL(fileURLWithPath: replica))
        case .ofAnotherDatabase: try replace(by: foreign)
        case .ofAnotherCluster: try replace(by: other)
        case .older: try replace(by: older)
        }
    }

    /// Makes a replica of a database that has the same name in another cluster.
    private func replicaOfAnotherCluster(in folder: String) async throws -> String {
        let node = try NodeProcess("other", in: folder, of: try await PostgresServer.shared.value.database())
        try await node.start()
        try await Ledger.begin(node.url())
        try await node.stop()
        return node.replica()
    }

    @Test func `a replica that is deleted, damaged, older or another's is made anew`() async throws {
        try await NodeCluster.with(2) { cluster in
            let (first, second) = (cluster.nodes[0], cluster.nodes[1])
            // Each has a writer, of which the first moves each time.
            let writers = try await cluster.writers()
            for writer in writers { try await writer.writeOne() }
            let foreign = first.replica("other")
            try await Ledger.begin(first.url("other"))
            try await wait(for: "the first replica to have all") {
                try await Ledger.content(first.url()).names.count == 2
            }
            try await first.stop()
            let older = first.folder + "-older.sluicedb"
            try FileManager.default.copyItem(atPath: first.replica(), toPath: older)
            let copy = first.folder + "-foreign.sluicedb"
            try FileManager.default.copyItem(atPath: foreign, toPath: copy)
            let other = try await replicaOfAnotherCluster(in: first.folder + "-other")
            for loss in Loss.allCases {
                for writer in writers { try await writer.writeOne() }
                try inflict(loss, on: first, older: older, foreign: copy, ofAnotherCluster: other)
                try await first.start()
                let names = try await Ledger.content(first.url()).names
                #expect(Set(names) == writers.names, "\(loss)")
                if loss.setsAside { try await first.logged("set aside", "made anew from the journal") }
                try await first.stop()
            }
            #expect(second.process?.isRunning == true)
            try await first.start()
            try await cluster.checkAgreement(writers)
        }
    }
}

#endif
