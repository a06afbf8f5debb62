/// A dictionary for what is mostly a handful, in the order of insertion: a few keys are found by looking through them,
/// without hashing, and take little memory. Of this target, since a release build specialises what is generic only in
/// its own.
struct SmallMap<Key: Hashable, Element> {
    private(set) var entries: [(key: Key, element: Element)] = []
    /// The positions in ``entries``; empty where there are few.
    private var positions: [Key: Int] = [:]

    private static var fewCount: Int { 16 }

    var isEmpty: Bool { entries.isEmpty }

    private func position(of key: Key) -> Int? {
        if entries.count > Self.fewCount { return positions[key] }
        return entries.firstIndex { $0.key == key }
    }

    subscript(key: Key) -> Element? { position(of: key).map { entries[$0].element } }

    func contains(_ key: Key) -> Bool { position(of: key) != nil }

    /// Adds a key that is not there yet.
    mutating func append(_ key: Key, _ element: Element) {
        entries.append((key, element))
        guard entries.count > Self.fewCount else { return }
        if positions.isEmpty {
            for (position, entry) in entries.enumerated() { positions[entry.key] = position }
        } else {
            positions[key] = entries.count - 1
        }
    }

    /// Changes the element of a key, or adds one.
    mutating func update(
        _ key: Key, default element: @autoclosure () -> Element, _ change: (inout Element) -> Void
    ) {
        if let position = position(of: key) { return change(&entries[position].element) }
        var element = element()
        change(&element)
        append(key, element)
    }

    mutating func removeAll() {
        entries.removeAll(keepingCapacity: entries.count <= Self.fewCount)
        positions = [:]
    }
}
