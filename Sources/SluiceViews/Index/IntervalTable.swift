import SluiceModel
import SluiceQuery

/// Stores numbered ranges of values, and finds those that contain a value.
///
/// The ranges are sorted by their lower ends and divided into blocks that know their highest upper end. Adding,
/// removing and looking up cost about O(√n): with a million ranges, a few thousand blocks are skimmed, and only those
/// that could contain the value are searched.
struct IntervalTable {
    private struct Entry {
        let range: ValueRange
        let number: UInt64
    }

    private struct Block {
        var entries: [Entry]
        /// The highest upper end; nil if one of the ranges has none.
        var upper: Value?

        init(_ entries: [Entry]) {
            self.entries = entries
            measure()
        }

        mutating func measure() {
            let uppers = entries.compactMap { $0.range.upper?.value }
            upper = uppers.count == entries.count ? uppers.max() : nil
        }
    }

    private static let blockCountMax = 512
    private var blocks: [Block] = []

    var isEmpty: Bool { blocks.isEmpty }

    mutating func insert(_ range: ValueRange, _ number: UInt64) {
        let entry = Entry(range: range, number: number)
        guard !blocks.isEmpty else {
            blocks = [Block([entry])]
            return
        }
        let index = max(0, blocks.partition { Self.precedes(entry, $0.entries[0]) } - 1)
        let place = blocks[index].entries.partition { Self.precedes(entry, $0) }
        blocks[index].entries.insert(entry, at: place)
        if blocks[index].entries.count > Self.blockCountMax {
            let half = blocks[index].entries.count / 2
            let upper = Block(Array(blocks[index].entries[half...]))
            blocks[index].entries.removeSubrange(half...)
            blocks.insert(upper, at: index + 1)
        }
        blocks[index].measure()
    }

    mutating func remove(_ range: ValueRange, _ number: UInt64) {
        let entry = Entry(range: range, number: number)
        let index = blocks.partition { Self.precedes(entry, $0.entries[0]) } - 1
        guard index >= 0, let place = blocks[index].entries.firstIndex(where: { $0.number == number }) else { return }
        blocks[index].entries.remove(at: place)
        if blocks[index].entries.isEmpty { blocks.remove(at: index) } else { blocks[index].measure() }
    }

    /// Calls `body` with the number of every range that contains the value.
    func forEach(holding value: Value, _ body: (UInt64) -> Void) {
        for block in blocks {
            if let lower = block.entries[0].range.lower, Value.compare(value, lower.value) < 0 { return }
            if let upper = block.upper, Value.compare(value, upper) > 0 { continue }
            for entry in block.entries where entry.range.contains(value) { body(entry.number) }
        }
    }

    func forEach(_ body: (UInt64) -> Void) {
        for block in blocks { for entry in block.entries { body(entry.number) } }
    }

    /// Orders by lower end, ranges without one first, and then by number.
    private static func precedes(_ left: Entry, _ right: Entry) -> Bool {
        let order =
            switch (left.range.lower, right.range.lower) {
            case (nil, nil): 0
            case (nil, _): -1
            case (_, nil): 1
            case (let left?, let right?): Value.compare(left.value, right.value)
            }
        return order == 0 ? left.number < right.number : order < 0
    }
}

extension Array {
    /// The position of the first element for which `isBehind` holds. It must hold for all elements after that one, and
    /// for none before.
    fileprivate func partition(_ isBehind: (Element) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
