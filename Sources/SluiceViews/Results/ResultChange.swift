package import SluiceModel

/// Describes how a list of results changed, by index.
///
/// Deletions and the sources of moves are indices in the old list; insertions, modifications and the destinations of
/// moves are indices in the new one. All other elements keep their relative order, and the set of moves is as small as
/// possible.
package struct ResultChange: Sendable, Hashable {
    package struct Deletion: Sendable, Hashable {
        package let index: Int
        package let reason: RemovalReason

        package init(index: Int, reason: RemovalReason) {
            self.index = index
            self.reason = reason
        }
    }

    package struct Move: Sendable, Hashable {
        package let from: Int
        package let to: Int

        package init(from: Int, to: Int) {
            self.from = from
            self.to = to
        }
    }

    /// Ascending.
    package var deletions: [Deletion] = []
    /// Ascending.
    package var insertions: [Int] = []
    /// Ascending. Objects that were in the old list and whose content, or something that they lead to, changed, moved
    /// or not.
    package var modifications: [Int] = []
    /// Ascending by destination.
    package var moves: [Move] = []

    package init() {}

    package var isEmpty: Bool {
        deletions.isEmpty && insertions.isEmpty && modifications.isEmpty && moves.isEmpty
    }

    /// Makes the new list from the old one. `element` returns the new element at an index; it is called only for
    /// insertions and modifications. Nil if the change does not fit the list.
    package func applied<Element>(to old: some RandomAccessCollection<Element>, element: (Int) -> Element) -> [Element]?
    {
        var gone = Set(deletions.map(\.index))
        gone.formUnion(moves.map(\.from))
        let count = old.count - deletions.count + insertions.count
        guard gone.count == deletions.count + moves.count, count >= 0 else { return nil }
        guard gone.allSatisfy({ $0 >= 0 && $0 < old.count }) else { return nil }
        var placed: [Int: Element] = [:]
        for index in insertions { placed[index] = element(index) }
        for move in moves { placed[move.to] = old[old.index(old.startIndex, offsetBy: move.from)] }
        guard placed.count == insertions.count + moves.count else { return nil }
        var rest = old.enumerated().lazy.filter { !gone.contains($0.offset) }.map(\.element).makeIterator()
        var new: [Element] = []
        for index in 0..<count {
            guard let next = placed[index] ?? rest.next() else { return nil }
            new.append(next)
        }
        guard rest.next() == nil, modifications.allSatisfy({ $0 >= 0 && $0 < count }) else { return nil }
        for index in modifications { new[index] = element(index) }
        return new
    }
}
