/// A set of property positions; one word for classes of up to 64 properties.
package struct PropertySet: Hashable, Sendable {
    private var first: UInt64 = 0
    private var rest: [UInt64] = []

    package init() {}

    package init(_ positions: some Sequence<Int>) {
        for position in positions { insert(position) }
    }

    /// The set of all positions below `count`.
    package init(all count: Int) {
        self.init(0..<count)
    }

    package var isEmpty: Bool { first == 0 && rest.isEmpty }

    package var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

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

    package mutating func formUnion(_ other: PropertySet) {
        first |= other.first
        while rest.count < other.rest.count { rest.append(0) }
        for index in other.rest.indices { rest[index] |= other.rest[index] }
    }

    package func union(_ other: PropertySet) -> PropertySet {
        var result = self
        result.formUnion(other)
        return result
    }

    package func intersection(_ other: PropertySet) -> PropertySet {
        var result = self
        result.formIntersection(other)
        return result
    }

    package func subtracting(_ other: PropertySet) -> PropertySet {
        var result = self
        result.subtract(other)
        return result
    }

    package mutating func subtract(_ other: PropertySet) {
        first &= ~other.first
        for index in rest.indices where index < other.rest.count { rest[index] &= ~other.rest[index] }
        trim()
    }

    package mutating func formIntersection(_ other: PropertySet) {
        first &= other.first
        for index in rest.indices { rest[index] &= index < other.rest.count ? other.rest[index] : 0 }
        trim()
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
    package func makeIterator() -> Iterator { Iterator(bits: first, rest: rest) }

    package struct Iterator: IteratorProtocol, Sendable {
        /// What is left of the word that is being read.
        @usableFromInline package var bits: UInt64
        @usableFromInline package let rest: [UInt64]
        /// How many words of `rest` were begun.
        @usableFromInline package var word = 0

        fileprivate init(bits: UInt64, rest: [UInt64]) {
            self.bits = bits
            self.rest = rest
        }

        @inlinable
        package mutating func next() -> Int? {
            while bits == 0 {
                guard word < rest.count else { return nil }
                bits = rest[word]
                word += 1
            }
            defer { bits &= bits - 1 }
            return word * 64 + bits.trailingZeroBitCount
        }
    }
}

extension PropertySet: ExpressibleByArrayLiteral {
    package init(arrayLiteral elements: Int...) { self.init(elements) }
}
