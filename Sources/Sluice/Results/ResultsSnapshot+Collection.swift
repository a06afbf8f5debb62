internal import SluiceViews

/// The objects of a snapshot by position, from 0, and in a loop: `snapshot[0]`, `snapshot.last`,
/// `for car in change.results { … }`, `Array(snapshot)`. Each access decodes the object anew.
extension ResultsSnapshot: RandomAccessCollection {
    /// Decodes the objects of a snapshot one after the other.
    public struct Iterator: IteratorProtocol {
        private let snapshot: ResultsSnapshot
        private var position = 0
        private var binding: ElementBinding?

        init(_ snapshot: ResultsSnapshot) { self.snapshot = snapshot }

        /// The next object; nil after the last. O(log n), and O(the object's size) to decode it.
        public mutating func next() -> Element? {
            guard position < snapshot.count else { return nil }
            defer { position += 1 }
            return snapshot.element(snapshot.list.entries[position], &binding)
        }
    }

    /// 0.
    public var startIndex: Int { 0 }

    /// ``count``.
    public var endIndex: Int { count }

    /// The object at a position. O(log n), and O(the object's size) to decode it.
    ///
    /// - Precondition: the position is from 0 and below ``count``.
    public subscript(position: Int) -> Element {
        precondition(position >= 0 && position < count, "index out of range")
        var binding: ElementBinding?
        return element(list.entries[position], &binding)
    }

    /// Begins with the object at position 0.
    public func makeIterator() -> Iterator { Iterator(self) }
}
