import FoundationEssentials
import SluiceServer
import SluiceStorage
import SluiceTesting
import TestSupport

/// What happens to the journal of several nodes: it is trimmed, and its history goes on in another way.
extension SimulatedServer {
    func isBehind(_ node: SimulatedNode) -> Bool { journal.map { node.storage.head != $0.head } ?? false }

    /// Whether a node is to follow what others have appended.
    func mustFollow(_ node: SimulatedNode) -> Bool { !node.isLagging && isBehind(node) }

    /// Lets most nodes, but for one, not follow the journal from now on.
    func lag(_ generator: inout SeededGenerator) {
        guard nodes.count > 1 else { return }
        let first = generator.below(nodes.count)
        for node in nodes where node.number != first { node.isLagging = generator.chance(80) }
    }

    /// Lets all nodes follow the journal again.
    func catchUp() { for node in nodes { node.isLagging = false } }

    /// Decides what happens to the next groups of a node on their way to the journal.
    func disturbJournal(of node: SimulatedNode) {
        guard let journal = node.journal, fortune.chance(20) else { return }
        journal.faults = fortune.chance(50) ? [.losesAnswer] : [.losesGroup]
        if options.delaysGroups, fortune.chance(60) {
            let count = fortune.below(3)
            // Where the author tries again, its group is there before the late one.
            journal.faults = fortune.chance(70) ? [.delaysGroup(by: count), .silent] : [.repeatsGroup(after: count)]
        }
        // Now and then it says nothing more, whether it has the group or not.
        if fortune.chance(25) { journal.faults.append(.silent) }
    }

    /// Records the state of a node, if it is a new one; else the node must have the state that another one has recorded.
    func record(_ node: SimulatedNode) throws {
        let position = node.storage.head.position
        if nodes.count == 1 { return try history.record(node.storage) }
        try noteGroups()
        try checkRules(of: node)
        if node.isStale || position <= recordedPosition { return try history.check(node.storage) }
        try history.record(node.storage, at: position)
        if places != nil { try judgeWrites() }
        if options.forksJournal { try noteVisits(upTo: position) }
        recordedPosition = position
    }

    /// Notes where clients were given their numbers.
    private func noteVisits(upTo position: UInt64) throws {
        for record in journal?.records ?? [] where (recordedPosition + 1...position).contains(record.head.position) {
            for case .visit(let visit) in try JournalGroup.decode(record.bytes).steps
            where firstVisits[visit.clientID] == nil { firstVisits[visit.clientID] = record.head.position }
        }
    }

    func trimLog(keepingVersions count: UInt64) throws {
        guard !nodes[0].isWaitingForJournal, !nodes[0].isStale else { return }
        do { try engine.catchUp() } catch let error as StorageError where error.isSilence || error.code == .logTrimmed {
            return
        }
        // What it has followed nobody may have recorded yet.
        try record(nodes[0])
        do {
            _ = try storage.trimLog(keepingVersions: count, keepingBytes: .max, entriesMax: 10_000)
        } catch is JournalHistoryChanged {
            return
        } catch is JournalConflict {
            // A group has come late. An engine would follow it and try again.
            return
        }
        try record(nodes[0])
    }

    // MARK: Histories

    /// Lets the history of the journal go on in another way, without its last groups.
    ///
    /// - Returns: false if it cannot.
    func fork(_ generator: inout SeededGenerator) throws -> Bool {
        guard let journal, let first = journal.records.first?.head.position else { return false }
        let positions = history.positions.filter { $0 >= max(first, snapshot?.head.position ?? 0) }
        guard !positions.isEmpty else { return false }
        // Sometimes nothing is lost but certainty.
        let position = generator.chance(15) ? positions[positions.count - 1] : generator.pick(positions)
        let lost = journal.records.filter { $0.head.position > position }
        if generator.chance(50) {
            try journal.fork(losing: lost.count, epoch: generator.next())
        } else {
            journal.fork(losing: lost.count)
        }
        for node in nodes where node.storage.head.position > position { node.isStale = true }
        let clients = firstVisits.filter { $0.value > position }.keys
        for client in clients { firstVisits[client] = nil }
        try history.fork(at: position, losing: Set(clients))
        recordedPosition = position
        journalCounts.forks += 1
        journalCounts.lostGroups += lost.count
        return true
    }

    // MARK: Trims and snapshots

    /// Makes a snapshot of a node's state, and removes from the journal what it has.
    func trimJournal(_ generator: inout SeededGenerator) throws {
        guard let journal else { return }
        let fitting = nodes.filter { !$0.isStale && $0.storage.head.position > snapshot?.head.position ?? 0 }
        guard !fitting.isEmpty else { return }
        let node = generator.pick(fitting)
        snapshot = try SimulatedSnapshot(of: node.storage)
        let count = journal.trim(before: node.storage.head.position)
        journalCounts.trims += count > 0 ? 1 : 0
    }

    /// Has a node that has started catch up with the journal, with a new replica if it needs one.
    func join(_ node: SimulatedNode) throws {
        guard let journal else { return }
        do {
            if try !journal.continues(node.storage.head) { try replace(node) }
            try node.engine.catchUp()
        } catch let error as StorageError where error.code == .logTrimmed {
            try replace(node)
            try node.engine.catchUp()
        }
        // It has no sessions yet.
        node.sentHead = node.storage.head
        try record(node)
    }

    /// Opens the database of a node anew that has found that it cannot go on with it: its sessions have ended.
    func replaceIfFailed(_ node: SimulatedNode) throws {
        guard node.engine.mustReopen else { return }
        let clients = node.engine.connectedClients
        guard clients.isEmpty else {
            throw SimulationFailure("a node closes its database, and does not tell the sessions of clients \(clients)")
        }
        guard node.isStale || node.storage.head.position < snapshot?.head.position ?? 0 else {
            throw SimulationFailure(
                "a node gives up a replica that is fine: \(node.engine.failure.map { "\($0)" } ?? "")")
        }
        try replace(node)
        try join(node)
    }

    /// Makes the replica of a node anew, of a snapshot where the journal no longer has everything.
    private func replace(_ node: SimulatedNode) throws {
        journalCounts.replacements += 1
        forgetObservations(of: node)
        try node.beginAnew(with: snapshot)
        if node === nodes[0] { try follow() }
    }
}

/// A copy of a replica that new ones begin with.
final class SimulatedSnapshot {
    let head: JournalHead
    private let path: String

    init(of storage: SQLiteServerStorage) throws {
        head = storage.head
        path = "/dev/shm/sluice-snapshot-\(UUID().uuidString)"
        try storage.copy(toFile: path)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func copy(to path: String) throws { try FileManager.default.copyItem(atPath: self.path, toPath: path) }
}

/// What has happened to the journal of several nodes, to see that the simulations reach it.
package struct JournalCounts: Sendable, SummedCounts {
    package var forks = 0
    package var lostGroups = 0
    package var trims = 0
    /// How many replicas were made anew.
    package var replacements = 0
    /// How many groups arrived late and became history, and how many were refused.
    package var lateGroups = 0
    package var refusedLateGroups = 0

    package init() {}

    package static var all: [WritableKeyPath<JournalCounts, Int>] {
        [\.forks, \.lostGroups, \.trims, \.replacements, \.lateGroups, \.refusedLateGroups]
    }
}
