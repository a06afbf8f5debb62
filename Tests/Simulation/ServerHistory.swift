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

    init(_ storage: SQLiteServerStorage) throws {
        latest = try ServerState(storage)
        states[latest.version] = latest
        epochs.insert(storage.epoch)
    }

    /// The states of histories that ended when a backup was put back or the journal forked, by the epochs that began in
    /// them.
    private var ended: [UInt64: [UInt64: ServerState]] = [:]
    /// The server's epochs, as far as a recording has met them.
    private var epochs: Set<UInt64> = []
    private var backup: (point: Point, epochs: [UInt64])?
    /// The history at the last positions of the journal that were recorded, in order, where it may fork.
    private var points: [(position: UInt64, point: Point)] = []
    /// The transactions that were lost when the journal forked.
    private var lost: Set<Write> = []
    /// The numbers of clients that were given in groups that were lost, by the epochs that ended.
    private var lostClients: [UInt64: Set<UInt64>] = [:]

    /// The history at one time.
    private struct Point {
        var latest: ServerState
        var states: [UInt64: ServerState]
        var accepted: [Write: Int]
    }

    private var point: Point {
        get { Point(latest: latest, states: states, accepted: accepted) }
        set { (latest, states, accepted, fresh) = (newValue.latest, newValue.states, newValue.accepted, []) }
    }

    /// How many groups a fork may lose.
    private static let pointCountMax = 12

    /// The state at a version of the present history; nil if it never had that version.
    func state(at version: UInt64) -> ServerState? { states[version] }

    /// The state at a version that somebody has reached in an epoch; nil if the server never had that version.
    func state(at version: UInt64, inEpoch epoch: UInt64) -> ServerState? { (ended[epoch] ?? states)[version] }

    /// How many times a transaction is in the log that a client sent under one of its numbers.
    func acceptedCount(of sequence: UInt64, by clientIDs: [UInt64]) -> Int {
        clientIDs.reduce(0) { $0 + accepted[Write(clientID: $1, sequence: sequence), default: 0] }
    }

    /// Whether a transaction was lost that a client sent under one of its numbers.
    func hasLost(_ sequence: UInt64, by clientIDs: [UInt64]) -> Bool {
        clientIDs.contains { lost.contains(Write(clientID: $0, sequence: sequence)) }
    }

    /// Whether a client's number that it was given in an epoch is one that the server has lost, and gives again to anybody.
    func hasLost(clientID: UInt64, inEpoch epoch: UInt64) -> Bool { lostClients[epoch]?.contains(clientID) ?? false }

    /// Notes that an epoch has begun.
    func begin(epoch: UInt64) { backup?.epochs.append(epoch) }

    /// Notes that the server's file is copied.
    func backUp(inEpoch epoch: UInt64) {
        backup = (point, [epoch])
    }

    /// Goes back to what was when the file was copied. Who has been told later versions is still of the history that
    /// ends here.
    func putBack() {
        guard var backup else { return }
        for epoch in backup.epochs { ended[epoch] = states }
        point = backup.point
        backup.epochs = []
        self.backup = backup
    }

    /// The positions of the journal at which it may fork, in order.
    var positions: [UInt64] { points.map(\.position) }

    /// Goes back to what was at a position of the journal, which has lost the groups behind it. Whoever has been told of
    /// them is of the history that ends here.
    ///
    /// - Parameter clients: the numbers of the clients whose first visits are among these groups.
    func fork(at position: UInt64, losing clients: Set<UInt64>) throws {
        guard let index = points.firstIndex(where: { $0.position == position }) else {
            throw SimulationFailure("the history at group \(position) is not known")
        }
        let former = accepted
        for epoch in epochs {
            ended[epoch] = ended[epoch] ?? states
            lostClients[epoch, default: []].formUnion(clients)
        }
        points.removeSubrange((index + 1)...)
        point = points[index].point
        lost.formUnion(former.keys.filter { accepted[$0] == nil })
    }

    /// Records the present state of a node that has reached another position of a journal than any before it.
    func record(_ storage: SQLiteServerStorage, at position: UInt64) throws {
        try record(storage)
        points.append((position, point))
        if points.count > Self.pointCountMax { points.removeFirst() }
    }

    /// Checks that a node that follows has the objects that another one had at its version and in its epoch.
    func check(_ storage: SQLiteServerStorage) throws {
        guard let known = state(at: storage.version, inEpoch: storage.epoch) else {
            throw SimulationFailure("a node stands at version \(storage.version), which never was")
        }
        guard known.schema == storage.schema else { return }
        if let difference = try ServerState(storage).difference(from: known) {
            throw SimulationFailure("a node differs at version \(storage.version) from another one: \(difference)")
        }
    }

    /// Records the present state of the server.
    func record(_ storage: SQLiteServerStorage) throws {
        fresh = []
        epochs.insert(storage.epoch)
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
            states[version] = try ServerState(
                latest, version: version, at: storage.time(ofVersion: version), schemaAtFirst: earlier.schemaAtFirst,
                olds: (try storage.oldImages(since: version) ?? []).map { ($0.object, $0.row) })
        }
    }
}
