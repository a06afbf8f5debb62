#if PostgreSQL

internal import SluiceModel
internal import SluiceStorage

/// The start of a node: it takes its name, unless a node has it that is alive.
///
/// A run before it in the same data folder has ended, since that is locked. Of a run in another folder nobody knows; it
/// is alive if it says something within the time in which it should.
struct NodeEntry {
    /// The node that has the name.
    private struct Holder {
        /// Names its last word: another one has another.
        var word: String
        var version: String
        var url: String?
        /// How old its last word is.
        var silence: Duration

        /// - Returns: nil if nobody has the name.
        init?(of name: String, _ connection: PostgresConnection) throws(PostgresFailure) {
            let found = try connection.execute(NodeStatements.holder, .text(name))
            guard found.rowCount == 1 else { return nil }
            word = found.text(0)
            version = found.text(1)
            url = found.isNull(2) ? nil : found.text(2)
            silence = .milliseconds(found.integer(3))
        }
    }

    private static let pause = Duration.milliseconds(100)

    private let row: NodeRow
    private let pool: PostgresPool
    private let stop: StopSignal
    private let log: LogSink?

    init(_ row: NodeRow, _ pool: PostgresPool, _ stop: StopSignal, log: LogSink?) {
        self.row = row
        self.pool = pool
        self.stop = stop
        self.log = log
    }

    /// Takes the name. While PostgreSQL does not answer, that is left for later.
    ///
    /// - Throws: ``StorageError/Code/exists`` if another node has the name.
    func enter() throws(StorageError) {
        // Two of its words are missing, and a second for the way.
        let silenceMax = pool.timeouts.heartbeat * 2 + .seconds(1)
        var first: Holder?
        while !stop.isGiven {
            let holder: Holder?
            do throws(PostgresFailure) {
                holder = try pool.withConnection { accepted throws(PostgresFailure) in
                    try row.store(by: accepted.connection) ? nil : try Holder(of: row.name, accepted.connection)
                }
            } catch { return }
            guard let holder, holder.silence < silenceMax else { return }
            if let first, first.word != holder.word { throw refusal(holder) }
            if first == nil {
                first = holder
                log?(.info, "another node had the name of this one a moment ago", [("node", row.name)])
            }
            _ = stop.wait(until: .now + Self.pause)
        }
    }

    private func refusal(_ holder: Holder) -> StorageError {
        let place = holder.url.map { ", clients reach it at \($0)" } ?? ""
        return StorageError(
            .exists,
            "another node that is alive has the name '\(row.name)': its version is \(holder.version)\(place), and it was "
                + "heard of \(Int(holder.silence / .seconds(1))) s ago; start this one with another name, by --node=NAME"
        )
    }
}

#endif
