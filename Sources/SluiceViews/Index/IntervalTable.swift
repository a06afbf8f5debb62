import SluiceModel
import SluiceQuery

/// Ranges of values with numbers each, found by a value inside.
///
/// A treap ordered by lower ends in which every node knows the highest upper end of its subtree: the interval tree of
/// Cormen, Leiserson, Rivest and Stein, "Introduction to Algorithms", chapter 14.3, balanced by random priorities (Seidel
/// and Aragon, "Randomized Search Trees", 1996). Adding and removing cost O(log n) and finding k ranges O(k · log n), for n
/// different ranges, as expected over the priorities.
struct IntervalTable {
    private struct Node {
        var range: ValueRange
        var numbers: NumberSet
        let priority: UInt64
        var left: Int32 = -1
        var right: Int32 = -1
        /// The highest upper end in the subtree; nil if one of its ranges has none.
        var upper: Value?
    }

    private var nodes: [Node] = []
    /// Places in `nodes` that are free.
    private var free: [Int32] = []
    private var root: Int32 = -1
    private var seed: UInt64 = 0

    var isEmpty: Bool { root < 0 }

    /// How many numbers a range has.
    func count(of range: ValueRange) -> Int {
        let place = find(range)
        return place < 0 ? 0 : nodes[Int(place)].numbers.count
    }

    mutating func insert(_ range: ValueRange, _ number: UInt64) {
        let place = find(range)
        if place >= 0 {
            nodes[Int(place)].numbers.insert(number)
            return
        }
        let (left, right) = split(root, before: range)
        root = join(join(left, makeNode(range, number)), right)
    }

    mutating func remove(_ range: ValueRange, _ number: UInt64) {
        let place = find(range)
        guard place >= 0, nodes[Int(place)].numbers.remove(number) else { return }
        root = removing(range, from: root)
        free.append(place)
        if root < 0 { (nodes, free) = ([], []) }
    }

    /// Calls `body` with every number whose range holds the value.
    func forEach(holding value: Value, _ body: (UInt64) -> Void) { visit(root, value, body) }

    func forEach(_ body: (UInt64) -> Void) {
        var pending = [root]
        while let place = pending.popLast() {
            guard place >= 0 else { continue }
            let node = nodes[Int(place)]
            node.numbers.forEach(body)
            pending += [node.left, node.right]
        }
    }

    private func visit(_ place: Int32, _ value: Value, _ body: (UInt64) -> Void) {
        guard place >= 0 else { return }
        let index = Int(place)
        if let upper = nodes[index].upper, Value.compare(value, upper) > 0 { return }
        visit(nodes[index].left, value, body)
        if let lower = nodes[index].range.lower, Value.compare(value, lower.value) < 0 { return }
        if nodes[index].range.contains(value) { nodes[index].numbers.forEach(body) }
        visit(nodes[index].right, value, body)
    }

    // MARK: The tree

    private func find(_ range: ValueRange) -> Int32 {
        var place = root
        while place >= 0 {
            let order = Self.compare(range, nodes[Int(place)].range)
            if order == 0 { return place }
            place = order < 0 ? nodes[Int(place)].left : nodes[Int(place)].right
        }
        return place
    }

    private mutating func makeNode(_ range: ValueRange, _ number: UInt64) -> Int32 {
        // SplitMix64 (Steele, Lea and Flood, 2014): the same table comes of the same calls.
        seed &+= 0x9E37_79B9_7F4A_7C15
        var priority = (seed ^ (seed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        priority = (priority ^ (priority >> 27)) &* 0x94D0_49BB_1331_11EB
        let node = Node(
            range: range, numbers: NumberSet(number), priority: priority ^ (priority >> 31), upper: range.upper?.value)
        guard let place = free.popLast() else {
            nodes.append(node)
            return Int32(nodes.count - 1)
        }
        nodes[Int(place)] = node
        return place
    }

    /// Notes the highest upper end of a node whose subtrees changed.
    private mutating func measure(_ place: Int32) {
        let index = Int(place)
        var upper = nodes[index].range.upper?.value
        for child in [nodes[index].left, nodes[index].right] where child >= 0 {
            guard let own = upper, let other = nodes[Int(child)].upper else {
                upper = nil
                break
            }
            if Value.compare(other, own) > 0 { upper = other }
        }
        nodes[index].upper = upper
    }

    /// Parts a tree into what comes before a range and the rest.
    private mutating func split(_ place: Int32, before range: ValueRange) -> (Int32, Int32) {
        guard place >= 0 else { return (-1, -1) }
        let index = Int(place)
        if Self.compare(nodes[index].range, range) < 0 {
            let (left, right) = split(nodes[index].right, before: range)
            nodes[index].right = left
            measure(place)
            return (place, right)
        }
        let (left, right) = split(nodes[index].left, before: range)
        nodes[index].left = right
        measure(place)
        return (left, place)
    }

    /// Joins two trees of which the left one comes before the right one.
    private mutating func join(_ left: Int32, _ right: Int32) -> Int32 {
        guard left >= 0 else { return right }
        guard right >= 0 else { return left }
        if nodes[Int(left)].priority > nodes[Int(right)].priority {
            nodes[Int(left)].right = join(nodes[Int(left)].right, right)
            measure(left)
            return left
        }
        nodes[Int(right)].left = join(left, nodes[Int(right)].left)
        measure(right)
        return right
    }

    private mutating func removing(_ range: ValueRange, from place: Int32) -> Int32 {
        guard place >= 0 else { return -1 }
        let index = Int(place)
        let order = Self.compare(range, nodes[index].range)
        if order == 0 { return join(nodes[index].left, nodes[index].right) }
        if order < 0 {
            nodes[index].left = removing(range, from: nodes[index].left)
        } else {
            nodes[index].right = removing(range, from: nodes[index].right)
        }
        measure(place)
        return place
    }

    /// By lower end, those without one first, then by upper end, those without one last. Zero for one range only.
    private static func compare(_ left: ValueRange, _ right: ValueRange) -> Int {
        let order = compare(left.lower, right.lower, whenMissing: -1)
        return order != 0 ? order : compare(left.upper, right.upper, whenMissing: 1)
    }

    private static func compare(_ left: ValueRange.Bound?, _ right: ValueRange.Bound?, whenMissing order: Int) -> Int {
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
