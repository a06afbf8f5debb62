/// A set of property positions; one word for classes of up to 64 properties.
package struct PropertySet: Hashable, Sendable {
    @usableFromInline var first: UInt64 = 0
    @usableFromInline var rest: [UInt64] = []

    @inlinable
    package init() {}

    @inlinable
    init(first: UInt64) { self.first = first }

    package init(_ positions: some Sequence<Int>) {
        for position in positions { insert(position) }
    }

    /// The set of all positions below `count`.
    package init(all count: Int) {
        self.init(0..<count)
    }

    @inlinable
    package var isEmpty: Bool { first == 0 && rest.isEmpty }

    package var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

    @inlinable
    package func contains(_ position: Int) -> Bool {
        if position < 64 { return first >> UInt64(position) & 1 == 1 }
        let word = position / 64 - 1
        return word < rest.count && rest[word] >> UInt64(position % 64) & 1 == 1
    }

    package mutating func insert(_ position: Int) {
        if position < 64 {
            first |= 1 << UInt64(position)
            return
        }
        let word = position / 64 - 1
        while rest.count <= word { rest.append(0) }
        rest[word] |= 1 << UInt64(position % 64)
    }

    package mutating func remove(_ position: Int) {
        if position < 64 {
            first &= ~(1 << UInt64(position))
            return
        }
        let word = position / 64 - 1
        guard word < rest.count else { return }
        rest[word] &= ~(1 << UInt64(position % 64))
        trim()
    }

    @usableFromInline
    package mutating func formUnion(_ other: PropertySet) {
        first |= other.first
        while rest.count < other.rest.count { rest.append(0) }
        for index in other.rest.indices { rest[index] |= other.rest[index] }
    }

    @inlinable
    package func union(_ other: PropertySet) -> PropertySet {
        if rest.isEmpty, other.rest.isEmpty { return PropertySet(first: first | other.first) }
        var result = self
        result.formUnion(other)
        return result
    }

    @inlinable
    package func intersection(_ other: PropertySet) -> PropertySet {
        if rest.isEmpty || other.rest.isEmpty { return PropertySet(first: first & other.first) }
        var result = self
        result.formIntersection(other)
        return result
    }

    @inlinable
    package func subtracting(_ other: PropertySet) -> PropertySet {
        if rest.isEmpty { return PropertySet(first: first & ~other.first) }
        var result = self
        result.subtract(other)
        return result
    }

    @usableFromInline
    package mutating func subtract(_ other: PropertySet) {
        first &= ~other.first
        for index in rest.indices where index < other.rest.count { rest[index] &= ~other.rest[index] }
        trim()
    }

    @usableFromInline
    package mutating func formIntersection(_ other: PropertySet) {
        first &= other.first
        for index in rest.indices { rest[index] &= index < other.rest.count ? other.rest[index] : 0 }
        trim()
    }

    /// Whether the sets have a position in common.
    @inlinable
    package func meets(_ other: PropertySet) -> Bool {
        if first & other.first != 0 { return true }
        return rest.isEmpty || other.rest.isEmpty ? false : zip(rest, other.rest).contains { $0 & $1 != 0 }
    }

    /// The bits as words, lowest positions first, without trailing zero words beyond the first.
    package var words: [UInt64] { [first] + rest }

    /// Makes the set with these bits.
    package init(words: some Sequence<UInt64>) {
        for (index, word) in words.enumerated() {
            if index == 0 { first = word } else { rest.append(word) }
        }
        trim()
    }

    private mutating func trim() {
        while rest.last == 0 { rest.removeLast() }
    }
}

extension PropertySet: Sequence {
    /// The positions in ascending order.
    package struct Iterator: IteratorProtocol {
        private var bits: UInt64
        private var base = 0
        private var rest: ArraySlice<UInt64>

        fileprivate init(_ first: UInt64, _ rest: [UInt64]) {
            bits = first
            self.rest = rest[...]
        }

        package mutating func next() -> Int? {
            while bits == 0 {
                guard let word = rest.popFirst() else { return nil }
                bits = word
                base += 64
            }
            let position = bits.trailingZeroBitCount
            bits &= bits - 1
            return base + position
        }
    }

    package func makeIterator() -> Iterator { Iterator(first, rest) }

    package var underestimatedCount: Int { rest.isEmpty ? first.nonzeroBitCount : count }
}

extension PropertySet: ExpressibleByArrayLiteral {
    package init(arrayLiteral elements: Int...) { self.init(elements) }
}
