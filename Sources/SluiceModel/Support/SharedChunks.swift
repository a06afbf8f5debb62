/// An array in chunks: copies share them, and an edit of a copy copies one chunk and the references to the others.
///
/// A list that is edited again and again, while others hold it as it was, is so copied only where it changes.
struct SharedChunks<Element> {
    /// The most elements of a chunk.
    private static var chunkCountMax: Int { 128 }

    private var chunks: [[Element]] = []
    /// The index of the first element of each chunk.
    private var starts: [Int] = []
    private(set) var count = 0

    init(_ elements: [Element]) {
        let size = Self.chunkCountMax * 3 / 4
        count = elements.count
        chunks.reserveCapacity(count / size + 1)
        starts.reserveCapacity(count / size + 1)
        for start in stride(from: 0, to: elements.count, by: size) {
            starts.append(start)
            chunks.append(Array(elements[start..<min(start + size, elements.count)]))
        }
    }

    var elements: [Element] {
        var elements: [Element] = []
        elements.reserveCapacity(count)
        for chunk in chunks { elements += chunk }
        return elements
    }

    /// Calls `body` with each element, in order.
    func forEach(_ body: (Element) -> Void) {
        for chunk in chunks { for element in chunk { body(element) } }
    }

    /// Reading is O(log n).
    subscript(index: Int) -> Element {
        get {
            let chunk = self.chunk(of: index)
            return chunks[chunk][index - starts[chunk]]
        }
        set {
            let chunk = self.chunk(of: index)
            chunks[chunk][index - starts[chunk]] = newValue
        }
    }

    /// Inserts an element before the one at an index. O(n / 100) steps that are small.
    mutating func insert(_ element: Element, at index: Int) {
        if chunks.isEmpty {
            chunks = [[element]]
            starts = [0]
            count = 1
            return
        }
        let chunk = self.chunk(of: index)
        chunks[chunk].insert(element, at: index - starts[chunk])
        count += 1
        shift(after: chunk, by: 1)
        guard chunks[chunk].count > Self.chunkCountMax else { return }
        // One that grows at its end is left full.
        let middle = index == count - 1 ? Self.chunkCountMax : chunks[chunk].count / 2
        let tail = Array(chunks[chunk][middle...])
        chunks[chunk].removeSubrange(middle...)
        chunks.insert(tail, at: chunk + 1)
        starts.insert(starts[chunk] + middle, at: chunk + 1)
    }

    /// Removes the element at an index. Costs as much as to insert one.
    @discardableResult
    mutating func remove(at index: Int) -> Element {
        let chunk = self.chunk(of: index)
        let element = chunks[chunk].remove(at: index - starts[chunk])
        count -= 1
        shift(after: chunk, by: -1)
        if chunks[chunk].isEmpty {
            chunks.remove(at: chunk)
            starts.remove(at: chunk)
        }
        return element
    }

    /// The index of the first element that meets a condition, which all after it must meet too; the count if none does.
    /// O(log n).
    func firstIndex(where isTrue: (Element) -> Bool) -> Int {
        let next = chunks.firstPosition { isTrue($0[0]) }
        guard next > 0 else { return 0 }
        return starts[next - 1] + chunks[next - 1].firstPosition(where: isTrue)
    }

    /// Whether another array has equal elements. Chunks that both share are not looked at.
    func isEqual(to other: SharedChunks, by areEqual: (Element, Element) -> Bool) -> Bool {
        guard count == other.count else { return false }
        guard starts == other.starts else {
            return (0..<count).allSatisfy { areEqual(self[$0], other[$0]) }
        }
        return zip(chunks, other.chunks).allSatisfy { left, right in
            left.isSame(as: right) || zip(left, right).allSatisfy(areEqual)
        }
    }

    /// How many elements at the beginning are in chunks that both share.
    func sharedPrefixCount(with other: SharedChunks) -> Int {
        var chunk = 0
        while chunk < min(chunks.count, other.chunks.count), chunks[chunk].isSame(as: other.chunks[chunk]) {
            chunk += 1
        }
        return chunk < chunks.count ? starts[chunk] : count
    }

    /// How many elements at the end are in chunks that both share, and not among the first.
    func sharedSuffixCount(with other: SharedChunks, after prefixCount: Int) -> Int {
        var (left, right) = (chunks.count, other.chunks.count)
        while left > 0, right > 0, starts[left - 1] >= prefixCount, other.starts[right - 1] >= prefixCount,
            chunks[left - 1].isSame(as: other.chunks[right - 1])
        {
            left -= 1
            right -= 1
        }
        return count - (left < chunks.count ? starts[left] : count)
    }

    private func chunk(of index: Int) -> Int { max(0, starts.firstPosition { $0 > index } - 1) }

    private mutating func shift(after chunk: Int, by amount: Int) {
        for next in starts.indices.dropFirst(chunk + 1) { starts[next] += amount }
    }
}

extension SharedChunks: Sendable where Element: Sendable {}

extension Array {
    /// Whether both are copies of one array that nobody has changed since.
    func isSame(as other: [Element]) -> Bool {
        count == other.count
            && withUnsafeBufferPointer { left in
                other.withUnsafeBufferPointer { right in left.baseAddress == right.baseAddress }
            }
    }
}
