import SluiceModel
import SluiceQuery

/// Stores numbers under ranges of values, and finds those whose range contains a value.
///
/// The ranges are in the order of their lower ends, in chunks of about a hundred, and each chunk and each group of chunks
/// knows its highest upper end. A search passes by the groups and chunks that end before the value and reads the rest
/// from front to back, so it waits for memory a few times where a balanced tree would for each of its nodes. With n
/// ranges, insertion and removal take O(√n) moves of words next to each other, and finding k ranges takes O(√n + k)
/// such comparisons, a hundred nanoseconds among a million.
///
/// Ends are compared by their ``SluiceModel/Value/orderKey``. For most types it is exact. For the others, such as
/// texts, the table keeps the ranges themselves beside the keys.
final class IntervalTable {
    /// Ranges with exact keys, and the others.
    private var exact = IntervalList(keepsRanges: false)
    private var others = IntervalList(keepsRanges: true)

    var isEmpty: Bool { exact.isEmpty && others.isEmpty }

    /// How many numbers are filed under a range.
    func count(of range: ValueRange) -> Int {
        let key = IntervalKey(range)
        return key.isExact ? exact.count(of: key, range) : others.count(of: key, range)
    }

    /// How many numbers a value in a range finds, about: those whose ranges hold one of its ends.
    ///
    /// - Parameter countMax: where to stop counting.
    func count(overlapping range: ValueRange, atMost countMax: Int) -> Int {
        let key = IntervalKey(range)
        let ends = [range.lower.map { _ in key.lower }, range.upper.map { _ in key.upper }].compactMap(\.self)
        return ends.reduce(0) { most, end in
            var count = exact.count(holding: end, atMost: countMax)
            count += others.count(holding: end, atMost: countMax - count)
            return max(most, count)
        }
    }

    func insert(_ range: ValueRange, _ number: UInt64) {
        let key = IntervalKey(range)
        if key.isExact { exact.insert(key, range, number) } else { others.insert(key, range, number) }
    }

    func remove(_ range: ValueRange, _ number: UInt64) {
        let key = IntervalKey(range)
        if key.isExact { exact.remove(key, range, number) } else { others.remove(key, range, number) }
    }

    /// Calls `body` with every number whose range contains the value.
    func forEach(holding value: Value, _ body: (UInt64) -> Void) {
        let key = value.orderKey
        if !exact.isEmpty { exact.forEach(holding: value, key, body) }
        if !others.isEmpty { others.forEach(holding: value, key, body) }
    }

    func forEach(_ body: (UInt64) -> Void) {
        exact.forEach(body)
        others.forEach(body)
    }
}

/// The ends of a range as numbers, both included.
struct IntervalKey {
    let lower: UInt64
    let upper: UInt64
    /// Whether a value whose key is not below `lower` and not above `upper` is in the range. The key of the least value
    /// of a type may be that of null, which then counts as in the range too.
    let isExact: Bool

    init(_ range: ValueRange) {
        let (low, high) = (range.lower, range.upper)
        isExact = (low?.value.hasExactOrderKey ?? true) && (high?.value.hasExactOrderKey ?? true)
        let (lower, upper) = (low?.value.orderKey ?? 0, high?.value.orderKey ?? .max)
        self.lower = isExact && low?.isIncluded == false && lower < .max ? lower + 1 : lower
        self.upper = isExact && high?.isIncluded == false && upper > 0 ? upper - 1 : upper
    }
}

/// The ranges of an ``IntervalTable`` that have exact keys, or those that have not.
private struct IntervalList {
    /// Some ranges that follow each other in the order of lower end, upper end and number.
    private struct Chunk {
        var lowers: [UInt64] = []
        var uppers: [UInt64] = []
        var numbers: [UInt64] = []
        /// Empty if the keys are exact.
        var ranges: [ValueRange] = []

        var highest: UInt64 { uppers.max() ?? 0 }

        /// Moves the entries from an index on to a chunk of their own.
        mutating func split(at index: Int) -> Chunk {
            func half<Element>(_ elements: inout [Element]) -> [Element] {
                guard !elements.isEmpty else { return [] }
                defer { elements = Array(elements[..<index]) }
                return Array(elements[index...])
            }
            return Chunk(
                lowers: half(&lowers), uppers: half(&uppers), numbers: half(&numbers), ranges: half(&ranges))
        }
    }

    private static let chunkCountMax = 128
    private static let groupSize = 64

    private let keepsRanges: Bool
    private var chunks: [Chunk] = []
    /// The lowest lower end and the highest upper end of each chunk.
    private var lowests: [UInt64] = []
    private var highests: [UInt64] = []
    /// The highest upper end of each group of chunks.
    private var groupHighests: [UInt64] = []

    init(keepsRanges: Bool) { self.keepsRanges = keepsRanges }

    var isEmpty: Bool { chunks.isEmpty }

    // MARK: Searching

    func forEach(holding value: Value, _ key: UInt64, _ body: (UInt64) -> Void) {
        let end = Self.firstIndex(in: lowests, above: key)
        for group in groupHighests.indices.prefix((end + Self.groupSize - 1) / Self.groupSize)
        where groupHighests[group] >= key {
            let first = group * Self.groupSize
            for chunk in first..<min(first + Self.groupSize, end) where highests[chunk] >= key {
                visit(chunks[chunk], value, key, body)
            }
        }
    }

    /// How many ranges hold a key. Ends that are no exact keys are compared as if they were.
    func count(holding key: UInt64, atMost countMax: Int) -> Int {
        var count = 0
        let end = Self.firstIndex(in: lowests, above: key)
        for group in groupHighests.indices.prefix((end + Self.groupSize - 1) / Self.groupSize)
        where groupHighests[group] >= key {
            let first = group * Self.groupSize
            for chunk in first..<min(first + Self.groupSize, end) where highests[chunk] >= key {
                let uppers = chunks[chunk].uppers
                for index in 0..<Self.firstIndex(in: chunks[chunk].lowers, above: key) where uppers[index] >= key {
                    guard count < countMax else { return count }
                    count += 1
                }
            }
        }
        return count
    }

    private func visit(_ chunk: Chunk, _ value: Value, _ key: UInt64, _ body: (UInt64) -> Void) {
        for index in 0..<Self.firstIndex(in: chunk.lowers, above: key) where chunk.uppers[index] >= key {
            if !keepsRanges || chunk.ranges[index].contains(value) { body(chunk.numbers[index]) }
        }
    }

    /// The index of the first key above another one, or the end.
    private static func firstIndex(in keys: [UInt64], above key: UInt64) -> Int {
        var (low, high) = (0, keys.count)
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] <= key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    func forEach(_ body: (UInt64) -> Void) { for chunk in chunks { chunk.numbers.forEach(body) } }

    /// How many numbers are filed under a range.
    func count(of key: IntervalKey, _ range: ValueRange) -> Int {
        var count = 0
        var (chunk, index) = find(key, range, 0)
        while chunk < chunks.count {
            while index < chunks[chunk].numbers.count {
                guard side(of: chunk, index, key, range) == 0 else { return count }
                count += 1
                index += 1
            }
            (chunk, index) = (chunk + 1, 0)
        }
        return count
    }

    // MARK: Order

    /// Negative, zero or positive: how the entry stands to a range.
    private func side(of chunk: Int, _ index: Int, _ key: IntervalKey, _ range: ValueRange) -> Int {
        let (lower, upper) = (chunks[chunk].lowers[index], chunks[chunk].uppers[index])
        if lower != key.lower { return lower < key.lower ? -1 : 1 }
        if upper != key.upper { return upper < key.upper ? -1 : 1 }
        return keepsRanges ? ValueRange.compare(chunks[chunk].ranges[index], range) : 0
    }

    private func precedes(_ chunk: Int, _ index: Int, _ key: IntervalKey, _ range: ValueRange, _ number: UInt64) -> Bool
    {
        let side = side(of: chunk, index, key, range)
        return side != 0 ? side < 0 : chunks[chunk].numbers[index] < number
    }

    /// The place of the first entry that does not precede a range with a number. It may be the end of a chunk.
    private func find(_ key: IntervalKey, _ range: ValueRange, _ number: UInt64) -> (chunk: Int, index: Int) {
        var (low, high) = (0, chunks.count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(middle, chunks[middle].numbers.count - 1, key, range, number) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        guard low < chunks.count else { return (max(chunks.count - 1, 0), chunks.last?.numbers.count ?? 0) }
        let chunk = low
        (low, high) = (0, chunks[chunk].numbers.count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(chunk, middle, key, range, number) { low = middle + 1 } else { high = middle }
        }
        return (chunk, low)
    }

    // MARK: Changing

    mutating func insert(_ key: IntervalKey, _ range: ValueRange, _ number: UInt64) {
        guard !chunks.isEmpty else {
            let ranges = keepsRanges ? [range] : []
            return add(Chunk(lowers: [key.lower], uppers: [key.upper], numbers: [number], ranges: ranges), at: 0)
        }
        let (chunk, index) = find(key, range, number)
        if index < chunks[chunk].numbers.count, chunks[chunk].numbers[index] == number,
            side(of: chunk, index, key, range) == 0
        {
            return
        }
        chunks[chunk].lowers.insert(key.lower, at: index)
        chunks[chunk].uppers.insert(key.upper, at: index)
        chunks[chunk].numbers.insert(number, at: index)
        if keepsRanges { chunks[chunk].ranges.insert(range, at: index) }
        lowests[chunk] = chunks[chunk].lowers[0]
        highests[chunk] = max(highests[chunk], key.upper)
        groupHighests[chunk / Self.groupSize] = max(groupHighests[chunk / Self.groupSize], key.upper)
        guard chunks[chunk].numbers.count > Self.chunkCountMax else { return }
        // Where ranges come in ascending order, chunks stay full.
        let isAtEnd = chunk == chunks.count - 1 && index == Self.chunkCountMax
        let half = chunks[chunk].split(at: isAtEnd ? index : Self.chunkCountMax / 2)
        highests[chunk] = chunks[chunk].highest
        add(half, at: chunk + 1)
    }

    mutating func remove(_ key: IntervalKey, _ range: ValueRange, _ number: UInt64) {
        let (chunk, index) = find(key, range, number)
        guard chunk < chunks.count, index < chunks[chunk].numbers.count, chunks[chunk].numbers[index] == number,
            side(of: chunk, index, key, range) == 0
        else { return }
        chunks[chunk].lowers.remove(at: index)
        chunks[chunk].uppers.remove(at: index)
        chunks[chunk].numbers.remove(at: index)
        if keepsRanges { chunks[chunk].ranges.remove(at: index) }
        guard !chunks[chunk].numbers.isEmpty else {
            chunks.remove(at: chunk)
            lowests.remove(at: chunk)
            highests.remove(at: chunk)
            return measureGroups()
        }
        lowests[chunk] = chunks[chunk].lowers[0]
        guard highests[chunk] == key.upper else { return }
        highests[chunk] = chunks[chunk].highest
        measureGroup(chunk / Self.groupSize)
    }

    private mutating func measureGroup(_ group: Int) {
        let first = group * Self.groupSize
        groupHighests[group] = highests[first..<min(first + Self.groupSize, highests.count)].max() ?? 0
    }

    private mutating func add(_ chunk: Chunk, at position: Int) {
        chunks.insert(chunk, at: position)
        lowests.insert(chunk.lowers.first ?? 0, at: position)
        highests.insert(chunk.highest, at: position)
        measureGroups()
    }

    /// Finds the ends of all groups, since the chunks have moved.
    private mutating func measureGroups() {
        groupHighests = Array(repeating: 0, count: (chunks.count + Self.groupSize - 1) / Self.groupSize)
        for group in groupHighests.indices { measureGroup(group) }
    }
}

extension ValueRange {
    /// Orders ranges by lower end (a range without one comes first), then by upper end (a range without one comes
    /// last). Zero only if the ranges are equal.
    fileprivate static func compare(_ left: ValueRange, _ right: ValueRange) -> Int {
        let order = compare(left.lower, right.lower, whenMissing: -1)
        return order != 0 ? order : compare(left.upper, right.upper, whenMissing: 1)
    }

    private static func compare(_ left: Bound?, _ right: Bound?, whenMissing order: Int) -> Int {
        switch (left, right) {
        case (nil, nil): return 0
        case (nil, _): return order
        case (_, nil): return -order
        case (let left?, let right?):
            let order = Value.compare(left.value, right.value)
            guard order == 0, left.isIncluded != right.isIncluded else { return order }
            return left.isIncluded ? -1 : 1
        }
    }
}
