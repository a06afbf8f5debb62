#if PostgreSQL

internal import SluiceModel
internal import SluiceStorage
internal import Synchronization

/// The row of a node in `sluice.node`, by which the others and `sluice cluster status` know it.
final class NodeRow: Sendable {
    let name: String
    private let url: String?
    /// The random number of this run.
    let run: [UInt8]
    private let places: JournalPlaces
    private let log: LogSink?
    /// Whether the node has said that it stops, and is not alive any more.
    private let hasLeft = Atomic(false)
    /// The newest format of groups that all nodes read, as far as is known.
    private let agreed = Atomic(JournalGroup.formats.lowerBound)
    private let state = Mutex(State())
    /// A run that has ended keeps its name for 15 s from runs in other folders. Beyond that somebody renews it.
    private static let graceTime = Duration.seconds(20)

    private struct State {
        /// Names the data folder; nil for a node without one.
        var folder: String?
        /// Whether this run has had the row, which it then takes from nobody.
        var hasHadRow = false
        /// Since when another run has had the name; nil if none has.
        var takenSince: ContinuousClock.Instant?
    }

    init(name: String, url: String?, places: JournalPlaces, log: LogSink?) {
        self.name = name
        self.url = url
        self.places = places
        self.log = log
        run = (0..<16).map { _ in .random(in: .min ... .max) }
    }

    /// Has the row taken over from the run before this one in the same data folder, which has ended.
    ///
    /// - Parameter folder: a random text that the folder keeps.
    func succeed(in folder: String) { state.withLock { $0.folder = folder } }

    /// Whether the node has written its row, or has heard that another has its name.
    var isKnown: Bool { state.withLock { $0.hasHadRow || $0.takenSince != nil } }

    /// The newest format of groups that all nodes read that were seen in the last day.
    var agreedFormat: UInt8 { agreed.load(ordering: .relaxed) }

    /// Writes that the node stops.
    ///
    /// - Returns: where clients reach another node; nil if none says so.
    func leave(by connection: PostgresConnection) throws(PostgresFailure) -> String? {
        hasLeft.store(true, ordering: .sequentiallyConsistent)
        try connection.execute(NodeStatements.end, .text(name), .bytes(run))
        let others = try connection.execute(NodeStatements.other, .text(name))
        return others.rowCount > 0 ? others.text(0, row: 0) : nil
    }

    /// Notes at an old primary that this node refuses it, for ``PostgresCluster/status(_:)``.
    ///
    /// - Parameter timeline: the one that the node has seen.
    func refuse(_ connection: PostgresConnection, afterTimeline timeline: UInt32) throws(PostgresFailure) {
        // Commands are no nodes.
        guard state.withLock({ $0.folder != nil }) else { return }
        // It may wait for a standby that is the primary by now.
        try connection.execute(script: "SET synchronous_commit = off")
        try connection.execute(
            NodeStatements.refuse, .text(name), .bytes(run), .optionalText(url), .text(SluiceRelease.version),
            .integer(Int64(JournalGroup.formats.upperBound)), .integer(Int64(timeline)))
    }

    /// Writes that the node is alive, with the positions of its databases.
    ///
    /// - Returns: false if another node has the name.
    @discardableResult
    func store(by connection: PostgresConnection) throws(PostgresFailure) -> Bool {
        if hasLeft.load(ordering: .sequentiallyConsistent) { return true }
        let heads = places.all.map { "\"\($0.id)\":\($0.position)" }.joined(separator: ",")
        let (folder, hasHadRow) = state.withLock { ($0.folder, $0.hasHadRow) }
        let named = folder.map { ",\"folder\":\"\($0)\"" } ?? ""
        let stored = try connection.execute(
            NodeStatements.store, .text(name), .bytes(run), .optionalText(url), .text(SluiceRelease.version),
            .integer(Int64(JournalGroup.formats.upperBound)), .text("{\"heads\":{\(heads)}\(named)}"),
            .optionalText(hasHadRow ? nil : folder))
        agree(on: stored.integer(1, row: 0))
        let isTaken = !stored.flag(0)
        let mustWarn = state.withLock { state in
            guard isTaken else {
                (state.hasHadRow, state.takenSince) = (true, nil)
                return false
            }
            let now = ContinuousClock.now
            guard let first = state.takenSince else {
                state.takenSince = now
                return false
            }
            guard now - first >= Self.graceTime else { return false }
            state.takenSince = now
            return true
        }
        if mustWarn {
            log?(.warning, "another node has the name of this one; start one of them with another", [("node", name)])
        }
        return !isTaken
    }

    private func agree(on format: Int64) {
        let formats = JournalGroup.formats
        let format = min(max(UInt8(clamping: format), formats.lowerBound), formats.upperBound)
        let before = agreed.exchange(format, ordering: .relaxed)
        if before != format, isKnown { log?(.info, "groups are written in another format", [("format", "\(format)")]) }
    }
}

#endif
