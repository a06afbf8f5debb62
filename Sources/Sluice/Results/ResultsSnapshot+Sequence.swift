/// The objects of a snapshot in a loop: `for car in change.results { … }`, and with it `map`, `filter`, `prefix` and the
/// rest.
///
/// An object that cannot be read as its type is left out, as by ``readable()``, and the store's log says so;
/// ``elements()`` throws for it instead, as does the subscript. So a loop may see fewer than ``count`` objects, and
/// positions of a change are those of the subscript. A loop decodes each object when it comes to it.
extension ResultsSnapshot: Sequence {
    /// Decodes the objects of a snapshot one after the other.
    public struct Iterator: IteratorProtocol {
        private let snapshot: ResultsSnapshot
        private var position = 0

        init(_ snapshot: ResultsSnapshot) { self.snapshot = snapshot }

        /// The next object that can be read; nil after the last.
        public mutating func next() -> Element? {
            while position < snapshot.count {
                defer { position += 1 }
                if let element = snapshot.readable(at: position) { return element }
            }
            return nil
        }
    }

    public func makeIterator() -> Iterator { Iterator(self) }

    /// The first object that can be read; nil if there is none.
    public var first: Element? { first(where: { _ in true }) }

    /// The last object that can be read; nil if there is none.
    public var last: Element? { (0..<count).reversed().lazy.compactMap { readable(at: $0) }.first }

    /// The object at a position; nil if it cannot be read, of which the log learns.
    private func readable(at position: Int) -> Element? {
        do { return try self[position] } catch {
            noteUnreadable(error)
            return nil
        }
    }
}
