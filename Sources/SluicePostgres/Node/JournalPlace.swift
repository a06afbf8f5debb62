#if PostgreSQL

internal import Synchronization

/// Which database a journal is of, and how far this node knows it. The watch and the journal share it.
final class JournalPlace: Sendable, CustomStringConvertible {
    /// A journal counts as active for so long after something has happened in it.
    private static let activeTime = Duration.seconds(10)

    /// The database's number in `sluice.database`.
    let id: Int64
    let name: String
    private let state = Mutex((position: UInt64(0), heard: UInt64(0), active: ContinuousClock.now))
    private let seal = Atomic(false)

    init(id: Int64, name: String) {
        self.id = id
        self.name = name
    }

    /// The last position that this node has appended or read.
    var position: UInt64 { state.withLock { $0.position } }

    /// The last position that this node has heard of.
    var heard: UInt64 { state.withLock { max($0.position, $0.heard) } }

    /// Whether the journal is known to have ended.
    var isSealed: Bool { seal.load(ordering: .relaxed) }

    func noteSeal(_ isSealed: Bool) { seal.store(isSealed, ordering: .relaxed) }

    func note(position: UInt64) {
        state.withLock { state in
            if position > state.position { (state.position, state.active) = (position, .now) }
        }
    }

    /// Notes that somebody has appended.
    ///
    /// - Returns: whether this node does not have the position.
    func noteAppend(of position: UInt64) -> Bool {
        state.withLock { state in
            guard position > state.position else { return false }
            state.heard = max(position, state.heard)
            state.active = .now
            return true
        }
    }

    /// Notes where the journal ends by an answer.
    ///
    /// - Parameter before: ``position`` when it was asked for.
    /// - Returns: whether this node does not have the position, or has more than the journal, which has lost groups then.
    func note(end: UInt64, askedAt before: UInt64) -> Bool {
        state.withLock { state in
            guard end < before else { return nil as Bool? }
            // What was appended since the question is no less than what was lost.
            if state.position == before { state.position = end }
            (state.heard, state.active) = (end, .now)
            return true
        } ?? noteAppend(of: end)
    }

    var isActive: Bool { state.withLock { $0.active + Self.activeTime > .now } }

    var description: String { "the journal of '\(name)'" }
}

#endif
