/// The additions to one property in the order of versions, with sums over stretches of them.
///
/// To find the additions after a version that are later than a stamp, a whole stretch is used at once where all of it
/// or nothing of it is later. The clocks of clients ascend, so the number of stretches read is about how often the
/// writing client changed, times the logarithm of the count.
struct AdditionTree {
    fileprivate struct Leaf {
        var stamp: WriteStamp
        var amount: Value
    }

    /// A stretch of ``fanOut`` leaves, or of ``fanOut`` stretches of the level below.
    fileprivate struct Stretch {
        var earliest: WriteStamp
        var latest: WriteStamp
        /// Nil where the amounts are not of one type.
        var sum: Value?
    }

    private static let fanOut = 16

    private var leaves: [Leaf] = []
    /// The full stretches, by level.
    private var levels: [[Stretch]] = []

    /// Appends an addition, whose version must be later than all before. Amortised O(1).
    mutating func append(_ amount: Value, _ stamp: WriteStamp) {
        leaves.append(Leaf(stamp: stamp, amount: amount))
        var count = leaves.count
        var level = 0
        while count % Self.fanOut == 0 {
            let parts =
                level == 0 ? leaves.suffix(Self.fanOut).map(Stretch.init) : Array(levels[level - 1].suffix(Self.fanOut))
            if level == levels.count { levels.append([]) }
            levels[level].append(Stretch(parts))
            count /= Self.fanOut
            level += 1
        }
    }

    /// The amounts of the additions after a version that are later than a stamp, to be added one after the other.
    ///
    /// - Parameter steps: increased by the number of stretches and additions read.
    func amounts(since version: UInt64, laterThan stamp: WriteStamp, steps: inout UInt64) -> [Value] {
        var amounts: [Value] = []
        var position = leaves.firstPosition { $0.stamp.version > version }
        while position < leaves.count {
            steps += 1
            let (length, stretch) = largestStretch(at: position) { $0.isDecided(by: stamp) }
            if let stretch {
                if stamp < stretch.earliest, let sum = stretch.sum { amounts.append(sum) }
            } else if stamp < leaves[position].stamp {
                amounts.append(leaves[position].amount)
            }
            position += length
        }
        return amounts
    }

    /// The length of the longest useful stretch that begins at a leaf, and the stretch; nil if it is the leaf alone.
    private func largestStretch(at position: Int, where isUseful: (Stretch) -> Bool) -> (length: Int, Stretch?) {
        var found: (Int, Stretch?) = (1, nil)
        var length = Self.fanOut
        for level in levels {
            guard position % length == 0, position / length < level.count, isUseful(level[position / length]) else {
                break
            }
            found = (length, level[position / length])
            length *= Self.fanOut
        }
        return found
    }
}

extension AdditionTree.Stretch {
    fileprivate init(_ leaf: AdditionTree.Leaf) {
        self.init(earliest: leaf.stamp, latest: leaf.stamp, sum: leaf.amount)
    }

    /// Joins several neighbours to one stretch.
    fileprivate init(_ parts: [AdditionTree.Stretch]) {
        self = parts.dropFirst().reduce(into: parts[0]) { whole, part in
            whole.earliest = min(whole.earliest, part.earliest)
            whole.latest = max(whole.latest, part.latest)
            if let sum = whole.sum, let amount = part.sum, sum.scalarType == amount.scalarType {
                whole.sum = FieldOperation.Change.add(amount).applied(to: sum)
            } else {
                whole.sum = nil
            }
        }
    }

    /// Whether the stretch can be used as a whole: all of it is later than a stamp and has a sum, or nothing of it is
    /// later.
    fileprivate func isDecided(by stamp: WriteStamp) -> Bool { stamp < earliest ? sum != nil : !(stamp < latest) }
}

extension Array {
    /// The position of the first element that meets a condition, which all elements after it must meet too; the count
    /// if none does. O(log n).
    package func firstPosition(where isTrue: (Element) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if isTrue(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
