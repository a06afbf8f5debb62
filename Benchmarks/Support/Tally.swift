import Synchronization

/// Counts names, each once.
final class Tally: Sendable {
    private let names = Mutex<Set<String>>([])

    var count: Int { names.withLock { $0.count } }

    /// Adds a name.
    ///
    /// - Returns: whether it was not there before.
    func isFirst(_ name: String) -> Bool { names.withLock { $0.insert(name).inserted } }
}
