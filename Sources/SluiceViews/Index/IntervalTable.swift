import SluiceModel
import SluiceQuery

/// Stores numbers under ranges of values, and finds those whose range contains a value.
///
/// The table is a treap ordered by lower ends. Every node stores the highest upper end of its subtree: this is the
/// interval tree of Cormen, Leiserson, Rivest and Stein, "Introduction to Algorithms", chapter 14.3, balanced by random
/// priorities (Seidel and Aragon, "Randomized Search Trees", 1996). With n different ranges, insertion and removal take
/// O(log n) expected time, and finding k ranges takes O(k · log n).
///
/// A search goes by the ends' ``SluiceModel/Value/orderKey``, which stand apart from the ranges, so that it reads little
/// memory; only a range whose keys fit is compared by its values.
struct IntervalTable {
    private struct Node {
        var range: ValueRange
        var numbers: NumberSet
        let priority: UInt64
    }

    /// What a search reads of a node.
    private struct Branch {
        let lower: UInt64
        /// The node's own upper end.
        let upper: UInt64
        /// The highest upper end in the subtree.
        var highest: UInt64
        var left: Int32 = -1
        var right: Int32 = -1

        init(_ range: ValueRange) {
            lower = range.lower?.value.orderKey ?? 0
            upper = range.upper?.value.orderKey ?? .max
            highest = upper
        }
    }

    private var nodes: [Node] = []
    /// The branch of each node.
    private var branches: [Branch] = []
    /// The free places in `nodes`.
    private var free: [Int32] = []
    private var root: Int32 = -1
    private var seed: UInt64 = 0

    var isEmpty: Bool { root < 0 }

    /// How many numbers are filed under a range.
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
        if root < 0 { (nodes, branches, free) = ([], [], []) }
    }

    /// Calls `body` with every number whose range contains the value.
    func forEach(holding value: Value, _ body: (UInt64) -> Void) { visit(root, value, value.orderKey, body) }

    func forEach(_ body: (UInt64) -> Void) {
        var pending = [root]
        while let place = pending.popLast() {
            guard place >= 0 else { continue }
            let node = nodes[Int(place)]
            node.numbers.forEach(body)
            pending += [branches[Int(place)].left, branches[Int(place)].right]
        }
    }

    private func visit(_ place: Int32, _ value: Value, _ key: UInt64, _ body: (UInt64) -> Void) {
        var place = place
        while place >= 0 {
            let branch = branches[Int(place)]
            if key > branch.highest { return }
            if branch.left >= 0 { visit(branch.left, value, key, body) }
            if key < branch.lower { return }
            if key <= branch.upper, nodes[Int(place)].range.contains(value) { nodes[Int(place)].numbers.forEach(body) }
            place = branch.right
        }
    }

    // MARK: The tree

    private func find(_ range: ValueRange) -> Int32 {
        var place = root
        while place >= 0 {
            let order = Self.compare(range, nodes[Int(place)].range)
            if order == 0 { return place }
            place = order < 0 ? branches[Int(place)].left : branches[Int(place)].right
        }
        return place
    }

    private mutating func makeNode(_ range: ValueRange, _ number: UInt64) -> Int32 {
        // SplitMix64 (Steele, Lea and Flood, 2014) with a fixed seed: equal calls make equal tables.
        seed &+= 0x9E37_79B9_7F4A_7C15
        var priority = (seed ^ (seed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        priority = (priority ^ (priority >> 27)) &* 0x94D0_49BB_1331_11EB
        let node = Node(range: range, numbers: NumberSet(number), priority: priority ^ (priority >> 31))
        guard let place = free.popLast() else {
            nodes.append(node)
            branches.append(Branch(range))
            return Int32(nodes.count - 1)
        }
        nodes[Int(place)] = node
        branches[Int(place)] = Branch(range)
        return place
    }

    /// Updates the highest upper end of a node whose subtrees changed.
    private mutating func measure(_ place: Int32) {
        let index = Int(place)
        var highest = branches[index].upper
        for child in [branches[index].left, branches[index].right] where child >= 0 {
            highest = max(highest, branches[Int(child)].highest)
        }
        branches[index].highest = highest
    }

    /// Splits a tree into the ranges before a range and the others.
    private mutating func split(_ place: Int32, before range: ValueRange) -> (Int32, Int32) {
        guard place >= 0 else { return (-1, -1) }
        let index = Int(place)
        if Self.compare(nodes[index].range, range) < 0 {
            let (left, right) = split(branches[index].right, before: range)
            branches[index].right = left
            measure(place)
            return (place, right)
        }
        let (left, right) = split(branches[index].left, before: range)
        branches[index].left = right
        measure(place)
        return (left, place)
    }

    /// Joins two trees. All ranges of the left one come before those of the right one.
    private mutating func join(_ left: Int32, _ right: Int32) -> Int32 {
        guard left >= 0 else { return right }
        guard right >= 0 else { return left }
        if nodes[Int(left)].priority > nodes[Int(right)].priority {
            branches[Int(left)].right = join(branches[Int(left)].right, right)
            measure(left)
            return left
        }
        branches[Int(right)].left = join(left, branches[Int(right)].left)
        measure(right)
        return right
    }

    private mutating func removing(_ range: ValueRange, from place: Int32) -> Int32 {
        guard place >= 0 else { return -1 }
        let index = Int(place)
        let order = Self.compare(range, nodes[index].range)
        if order == 0 { return join(branches[index].left, branches[index].right) }
        if order < 0 {
            branches[index].left = removing(range, from: branches[index].left)
        } else {
            branches[index].right = removing(range, from: branches[index].right)
        }
        measure(place)
        return place
    }

    /// Orders ranges by lower end (a range without one comes first), then by upper end (a range without one comes
    /// last). Zero only if the ranges are equal.
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
