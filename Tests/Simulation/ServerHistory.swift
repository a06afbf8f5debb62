import SluiceModel
import SluiceStorage

/// The states of the server, version by version, and the transactions that led to them. It is kept apart from the
/// server and survives the server's crashes.
final class ServerHistory {
    /// One accepted transaction. The client's number of it identifies it; times do not, since the server cuts those that
    /// are far ahead. The server's own transactions have no numbers, and go by their versions.
    struct Write: Hashable {
        let clientID: UInt64
        let sequence: UInt64
    }

    private(set) var latest: ServerState
    private var states: [UInt64: ServerState] = [:]
    /// How many times each transaction is in the log.
    private(set) var accepted: [Write: Int] = [:]
    /// The transactions that the last recording has found.
    private(set) var fresh: [SluiceStorage.LogEntry] = []

    init(_ storage: any ServerStorage) throws {
        latest = try ServerState(storage)
        states[latest.version] = latest
    }

    /// The states of histories that ended when a backup was put back, by the epochs that began in them.
    private var ended: [UInt64: [UInt64: ServerState]] = [:]
    private var backup: Backup?

    /// The history when the server's file was copied.
    private struct Backup {
        var latest: ServerState
        var states: [UInt64: ServerState]
        var accepted: [Write: Int]
        /// The server's epochs since then.
        var epochs: [UInt64]
    }

    /// The state at a version of the present history; nil if it never had that version.
    func state(at version: UInt64) -> ServerState? { states[version] }

    /// The state at a version that somebody has reached in an epoch; nil if the server never had that version.
    func state(at version: UInt64, inEpoch epoch: UInt64) -> ServerState? { (ended[epoch] ?? states)[version] }

    /// How many times a transaction is in the log that a client sent under one of its numbers.
    func acceptedCount(of sequence: UInt64, by clientIDs: [UInt64]) -> Int {
        clientIDs.reduce(0) { $0 + accepted[Write(clientID: $1, sequence: sequence), default: 0] }
    }

    /// Notes that an epoch has begun.
    func begin(epoch: UInt64) { backup?.epochs.append(epoch) }

    /// Notes that the server's file is copied.
    func backUp(inEpoch epoch: UInt64) {
        backup = Backup(latest: latest, states: states, accepted: accepted, epochs: [epoch])
    }

    /// Goes back to what was when the file was copied. Who has been told later versions is still of the history that
    /// ends here.
    func putBack() {
        guard var backup else { return }
        for epoch in backup.epochs { ended[epoch] = states }
        (latest, states, accepted, fresh) = (backup.latest, backup.states, backup.accepted, [])
        backup.epochs = []
        self.backup = backup
    }

    /// Checks that a node that follows has the objects that another one had at its version.
    func check(_ storage: any ServerStorage) throws {
        guard let known = states[storage.version] else {
            throw SimulationFailure("a node stands at version \(storage.version), which never was")
        }
        guard known.schema == storage.schema else { return }
        if let difference = try ServerState(storage).difference(from: known) {
            throw SimulationFailure("a node differs at version \(storage.version) from another one: \(difference)")
        }
    }

    /// Records the present state of the server.
    func record(_ storage: any ServerStorage) throws {
        fresh = []
        guard storage.version >= latest.version else {
            throw SimulationFailure("the server went back from version \(latest.version) to \(storage.version)")
        }
        guard storage.version > latest.version || storage.schema != latest.schema else { return }
        var next = latest.version + 1
        var repeated: SluiceStorage.LogEntry?
        try storage.forEachLogEntry(after: latest.version) { entry in
            guard entry.version == next else {
                throw SimulationFailure("the log goes from version \(next - 1) to \(entry.version)")
            }
            next += 1
            fresh.append(entry)
            let write = Write(
                clientID: entry.clientID, sequence: entry.clientID == 0 ? entry.version : entry.sequence)
            accepted[write, default: 0] += 1
            if accepted[write, default: 0] > 1 { repeated = entry }
            return true
        }
        if let repeated {
            throw SimulationFailure("version \(repeated.version) repeats a transaction of client \(repeated.clientID)")
        }
        let earlier = latest
        if storage.schema != latest.schema {
            states = states.mapValues { ServerState($0, in: storage.schema) }
        }
        latest = try ServerState(storage, after: earlier)
        states[latest.version] = latest
        guard latest.version > earlier.version + 1 else { return }
        // The server may have committed several groups at once.
        for version in earlier.version + 1..<latest.version {
            states[version] = ServerState(
                latest, version: version, schemaAtFirst: earlier.schemaAtFirst,
                olds: try storage.oldImages(since: version).map { ($0.object, $0.row) })
        }
    }
}
