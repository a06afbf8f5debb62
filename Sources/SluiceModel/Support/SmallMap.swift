/// A dictionary for what is mostly a handful, in the order of insertion: a few keys are found by looking through them,
/// without hashing, and take little memory.
package struct SmallMap<Key: Hashable, Element> {
    @usableFromInline var held: [(key: Key, element: Element)] = []
    /// The positions in ``entries``; empty where there are few.
    @usableFromInline var positions: [Key: Int] = [:]

    @inlinable
    package init() {}

    @inlinable static var fewCount: Int { 16 }

    @inlinable package var entries: [(key: Key, element: Element)] { held }

    @inlinable package var isEmpty: Bool { held.isEmpty }

    @inlinable
    func position(of key: Key) -> Int? {
        if held.count > Self.fewCount { return positions[key] }
        return held.firstIndex { $0.key == key }
    }

    @inlinable
    package subscript(key: Key) -> Element? { position(of: key).map { held[$0].element } }

    @inlinable
    package func contains(_ key: Key) -> Bool { position(of: key) != nil }

    /// Adds a key that is not there yet.
    @inlinable
    package mutating func append(_ key: Key, _ element: Element) {
        held.append((key, element))
        guard held.count > Self.fewCount else { return }
        if positions.isEmpty {
            for (position, entry) in held.enumerated() { positions[entry.key] = position }
        } else {
            positions[key] = held.count - 1
        }
    }

    /// Changes the element of a key, or adds one.
    @inlinable
    package mutating func update(
        _ key: Key, default element: @autoclosure () -> Element, _ change: (inout Element) -> Void
    ) {
        if let position = position(of: key) { return change(&held[position].element) }
        var element = element()
        change(&element)
        append(key, element)
    }

    @inlinable
    package mutating func removeAll() {
        held.removeAll(keepingCapacity: held.count <= Self.fewCount)
        positions = [:]
    }
}

extension SmallMap: Sendable where Key: Sendable, Element: Sendable {}
