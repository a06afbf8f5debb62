import Synchronization

/// Names that have been seen, each counted once.
final class Tally: Sendable {
    private let names = Mutex<Set<String>>([])

    var count: Int { names.withLock { $0.count } }

    /// - Returns: whether the name was not there before.
    func isFirst(_ name: String) -> Bool { names.withLock { $0.insert(name).inserted } }
}
