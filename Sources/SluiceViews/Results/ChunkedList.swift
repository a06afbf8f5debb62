/// An array in chunks: copies share chunks, and an edit copies at most one chunk.
///
/// Events share results. With a plain array, each edit after an event would copy all of it.
package struct ChunkedList<Element> {
    private static var chunkCountMax: Int { 512 }

    private var chunks: [[Element]] = []
    /// The index of the first element of each chunk.
    private var starts: [Int] = []
    package private(set) var count = 0

    package init() {}

    package init(_ elements: [Element]) {
        let size = Self.chunkCountMax / 2
        for start in stride(from: 0, to: elements.count, by: size) {
            starts.append(start)
            chunks.append(Array(elements[start..<Swift.min(start + size, elements.count)]))
        }
        count = elements.count
    }

    /// Inserts an element before the one at `index`. O(chunks + chunk size).
    package mutating func insert(_ element: Element, at index: Int) {
        precondition(index >= 0 && index <= count, "index out of range")
        if chunks.isEmpty {
            chunks = [[element]]
            starts = [0]
            count = 1
            return
        }
        let chunk = index == count ? chunks.count - 1 : chunkIndex(of: index)
        chunks[chunk].insert(element, at: index - starts[chunk])
        count += 1
        if chunks[chunk].count > Self.chunkCountMax {
            let middle = chunks[chunk].count / 2
            let tail = Array(chunks[chunk][middle...])
            chunks[chunk].removeSubrange(middle...)
            chunks.insert(tail, at: chunk + 1)
            starts.insert(starts[chunk] + middle, at: chunk + 1)
            shiftStarts(after: chunk + 1, by: 1)
        } else {
            shiftStarts(after: chunk, by: 1)
        }
    }

    /// Removes the element at `index`. O(chunks + chunk size).
    package mutating func remove(at index: Int) {
        precondition(index >= 0 && index < count, "index out of range")
        let chunk = chunkIndex(of: index)
        chunks[chunk].remove(at: index - starts[chunk])
        count -= 1
        shiftStarts(after: chunk, by: -1)
        if chunks[chunk].isEmpty {
            chunks.remove(at: chunk)
            starts.remove(at: chunk)
        }
    }

    private mutating func shiftStarts(after chunk: Int, by amount: Int) {
        var index = chunk + 1
        while index < starts.count {
            starts[index] += amount
            index += 1
        }
    }

    private func chunkIndex(of index: Int) -> Int {
        var low = 0
        var high = starts.count - 1
        while low < high {
            let middle = (low + high + 1) / 2
            if starts[middle] <= index { low = middle } else { high = middle - 1 }
        }
        return low
    }
}

extension ChunkedList: Sendable where Element: Sendable {}

extension ChunkedList: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    /// Reading is O(log chunks).
    package subscript(index: Int) -> Element {
        get {
            precondition(index >= 0 && index < count, "index out of range")
            let chunk = chunkIndex(of: index)
            return chunks[chunk][index - starts[chunk]]
        }
        set {
            precondition(index >= 0 && index < count, "index out of range")
            let chunk = chunkIndex(of: index)
            chunks[chunk][index - starts[chunk]] = newValue
        }
    }
}
