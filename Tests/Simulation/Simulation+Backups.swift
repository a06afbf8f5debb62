import FoundationEssentials
import SluiceModel
import SluiceStorage

/// Backups of the server's file. Who has been told what the server then loses begins anew, and sends what it has not
/// sent.
extension Simulation {
    /// Copies the server's file.
    func backUp() throws {
        try server.backUp()
        for client in clients { client.serverIsCopied() }
    }

    /// Puts the last backup of the server back, if there is one. What is under way is lost.
    func putBack() throws {
        guard server.hasBackup else { return }
        note("  the server's backup is put back")
        for id in network.connections.keys.sorted() { network.loseEverything(of: id) }
        problems.expectResets()
        jobs.kill { if case .node = $0.place { true } else { false } }
        try server.putBack()
        for client in clients {
            client.serverWasPutBack { server.history.acceptedCount(of: $0, by: client.clientIDs) > 0 }
        }
    }
}

extension Simulation {
    /// Lets the journal of the nodes go on in another way. The nodes find that out by themselves, and until then go on with
    /// what they have.
    func forkJournal(_ generator: inout SeededGenerator) throws {
        guard try server.fork(&generator) else { return }
        note("  the journal goes on after group \(server.recordedPosition)")
        problems.expectResets()
        problems.expectReplacements()
        for client in clients { client.journalHasForked(server.history) }
    }

    /// Has a snapshot made, and drops from the journal what it has. A node that lacks some of that begins with it.
    func trimJournal(_ generator: inout SeededGenerator) throws {
        problems.expectReplacements()
        try server.trimJournal(&generator)
    }
}

extension SimulatedServer {
    private var backupPath: String? { path.map { $0 + "-backup" } }

    var hasBackup: Bool { backupPath.map { FileManager.default.fileExists(atPath: $0) } ?? false }

    /// Copies the server's file, instead of the copy before.
    func backUp() throws {
        guard let backupPath else { return }
        if hasBackup { try FileManager.default.removeItem(atPath: backupPath) }
        try storage.copy(toFile: backupPath)
        history.backUp(inEpoch: storage.epoch)
    }

    /// Stops the server, puts back the copy of its file, and starts it again.
    func putBack() throws {
        guard let path, let backupPath else { return }
        try restart(nodes[0]) {
            // Without the marker it is a backup, as a folder's file is that was put back.
            for name in ["", "-wal", "-shm", "-marker"].map({ path + $0 })
            where FileManager.default.fileExists(atPath: name) { try FileManager.default.removeItem(atPath: name) }
            try FileManager.default.copyItem(atPath: backupPath, toPath: path)
            history.putBack()
        }
        try wasPutBack()
    }
}
