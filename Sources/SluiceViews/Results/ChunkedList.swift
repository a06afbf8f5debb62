/// An array as a tree of three levels: copies share nodes, and an edit copies at most one or two nodes of each level.
///
/// Events share results. With a plain array, each edit after an event would copy all of it. Copying a node takes time
/// for the reference counts of its elements, which are rarely in the processor's cache, so nodes are small.
package struct ChunkedList<Element> {
    /// The maximum number of elements in a leaf, and of leaves in a branch.
    fileprivate static var nodeCountMax: Int { 64 }

    fileprivate struct Branch {
        var leaves: [[Element]]
        /// The index in the branch of the first element of each leaf.
        var starts: [Int]
        var count: Int

        init(_ leaves: some Collection<[Element]>) {
            self.leaves = Array(leaves)
            starts = []
            starts.reserveCapacity(leaves.count)
            count = 0
            for leaf in leaves {
                starts.append(count)
                count += leaf.count
            }
        }

        mutating func insert(_ element: Element, at index: Int) {
            let leaf = starts.place(of: index)
            leaves[leaf].insert(element, at: index - starts[leaf])
            count += 1
            if leaves[leaf].count > ChunkedList.nodeCountMax {
                let middle = leaves[leaf].count / 2
                let tail = Array(leaves[leaf][middle...])
                leaves[leaf].removeSubrange(middle...)
                leaves.insert(tail, at: leaf + 1)
                starts.insert(starts[leaf] + middle, at: leaf + 1)
                starts.shift(after: leaf + 1, by: 1)
            } else {
                starts.shift(after: leaf, by: 1)
            }
        }

        mutating func remove(at index: Int) {
            let leaf = starts.place(of: index)
            leaves[leaf].remove(at: index - starts[leaf])
            count -= 1
            starts.shift(after: leaf, by: -1)
            if leaves[leaf].isEmpty {
                leaves.remove(at: leaf)
                starts.remove(at: leaf)
            }
        }

        /// The leaves after elements were merged into them.
        ///
        /// - Parameters:
        ///   - elements: a part of those that are merged into the list, at least one.
        ///   - start: the index in the list of the branch's first element.
        ///   - indices: the indices in the list of the elements are appended to these.
        func leaves(
            merging elements: ArraySlice<Element>, from start: Int, by precedes: (Element, Element) -> Bool,
            _ indices: inout [Int]
        ) -> [[Element]] {
            var result: [[Element]] = []
            result.reserveCapacity(leaves.count + elements.count / ChunkedList.nodeCountMax + 2)
            var rest = elements
            for (number, leaf) in leaves.enumerated() {
                let isLast = number == leaves.count - 1
                let end = isLast ? rest.endIndex : rest.partitionIndex { precedes($0, leaves[number + 1][0]) }
                let coming = rest[..<end]
                rest = rest[end...]
                guard !coming.isEmpty else {
                    result.append(leaf)
                    continue
                }
                var merged: [Element] = []
                merged.reserveCapacity(leaf.count + coming.count)
                var next = coming.startIndex
                // Before an element are those of the list and those that are merged into it.
                func takeComing(behind offset: Int) {
                    indices.append(start + starts[number] + offset + next)
                    merged.append(coming[next])
                    next += 1
                }
                for (offset, element) in leaf.enumerated() {
                    while next < coming.endIndex, precedes(coming[next], element) { takeComing(behind: offset) }
                    merged.append(element)
                }
                while next < coming.endIndex { takeComing(behind: leaf.count) }
                let size =
                    merged.count > ChunkedList.nodeCountMax ? ChunkedList.nodeCountMax * 3 / 4 : merged.count
                for start in stride(from: 0, to: merged.count, by: size) {
                    result.append(Array(merged[start..<Swift.min(start + size, merged.count)]))
                }
            }
            return result
        }

        subscript(index: Int) -> Element {
            get {
                let leaf = starts.place(of: index)
                return leaves[leaf][index - starts[leaf]]
            }
            set {
                let leaf = starts.place(of: index)
                leaves[leaf][index - starts[leaf]] = newValue
            }
        }
    }

    private var branches: [Branch] = []
    /// The index of the first element of each branch.
    private var starts: [Int] = []
    package private(set) var count = 0

    package init() {}

    package init(_ elements: [Element]) {
        let size = Self.nodeCountMax * 3 / 4
        for start in stride(from: 0, to: elements.count, by: size * size) {
            let end = Swift.min(start + size * size, elements.count)
            starts.append(start)
            branches.append(
                Branch(
                    stride(from: start, to: end, by: size).map { Array(elements[$0..<Swift.min($0 + size, end)]) }))
        }
        count = elements.count
    }

    /// Inserts an element before the one at `index`. Takes O(n / 1,000) for the references to branches, and O(1) for the
    /// rest.
    package mutating func insert(_ element: Element, at index: Int) {
        precondition(index >= 0 && index <= count, "index out of range")
        if branches.isEmpty {
            branches = [Branch([[element]])]
            starts = [0]
            count = 1
            return
        }
        let branch = starts.place(of: index)
        branches[branch].insert(element, at: index - starts[branch])
        count += 1
        starts.shift(after: branch, by: 1)
        guard branches[branch].leaves.count > Self.nodeCountMax else { return }
        let leaves = branches[branch].leaves
        branches[branch] = Branch(leaves[..<(leaves.count / 2)])
        branches.insert(Branch(leaves[(leaves.count / 2)...]), at: branch + 1)
        starts.insert(starts[branch] + branches[branch].count, at: branch + 1)
    }

    /// Removes the element at `index`. Costs as much as to insert one.
    package mutating func remove(at index: Int) {
        precondition(index >= 0 && index < count, "index out of range")
        let branch = starts.place(of: index)
        branches[branch].remove(at: index - starts[branch])
        count -= 1
        starts.shift(after: branch, by: -1)
        if branches[branch].count == 0 {
            branches.remove(at: branch)
            starts.remove(at: branch)
        }
    }
}

extension ChunkedList {
    /// Merges elements into a list that is in the same order as they are. Nodes into which none of them falls stay as
    /// they are, and shared with copies of the list, so elements that follow all others cost O(their number), and
    /// O(n / 1,000) for the references to branches.
    ///
    /// - Returns: the indices of the elements, ascending.
    package mutating func merge(_ elements: [Element], by precedes: (Element, Element) -> Bool) -> [Int] {
        guard let last = branches.indices.last, !elements.isEmpty else {
            if !elements.isEmpty { self = ChunkedList(elements) }
            return Array(elements.indices)
        }
        var indices: [Int] = []
        indices.reserveCapacity(elements.count)
        var merged: [Branch] = []
        var rest = elements[...]
        for (number, branch) in branches.enumerated() {
            let end =
                number == last
                ? rest.endIndex : rest.partitionIndex { precedes($0, branches[number + 1].leaves[0][0]) }
            guard end > rest.startIndex else {
                merged.append(branch)
                continue
            }
            let leaves = branch.leaves(merging: rest[..<end], from: starts[number], by: precedes, &indices)
            rest = rest[end...]
            let size = leaves.count > Self.nodeCountMax ? Self.nodeCountMax * 3 / 4 : leaves.count
            for start in stride(from: 0, to: leaves.count, by: size) {
                merged.append(Branch(leaves[start..<Swift.min(start + size, leaves.count)]))
            }
        }
        branches = merged
        starts = []
        count = 0
        for branch in branches {
            starts.append(count)
            count += branch.count
        }
        return indices
    }

    /// The index of the first element that does not meet a condition, in a list whose elements that meet it come first.
    /// O(log n), with one call of `isBefore` for each halving.
    package func partitionIndex(where isBefore: (Element) -> Bool) -> Int {
        // The last node whose first element meets the condition has the last that does.
        let branch = branches.partitionIndex { isBefore($0.leaves[0][0]) } - 1
        guard branch >= 0 else { return 0 }
        let leaves = branches[branch].leaves
        let leaf = leaves.partitionIndex { isBefore($0[0]) } - 1
        return starts[branch] + branches[branch].starts[leaf] + leaves[leaf].partitionIndex(where: isBefore)
    }
}

extension RandomAccessCollection where Index == Int {
    fileprivate func partitionIndex(where isBefore: (Element) -> Bool) -> Int {
        var low = startIndex
        var high = endIndex
        while low < high {
            let middle = (low + high) / 2
            if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension [Int] {
    /// The last node that starts at or before an index, of nodes that start at these indices; the first if none does.
    fileprivate func place(of index: Int) -> Int {
        var low = 0
        var high = count - 1
        while low < high {
            let middle = (low + high + 1) / 2
            if self[middle] <= index { low = middle } else { high = middle - 1 }
        }
        return low
    }

    fileprivate mutating func shift(after node: Int, by amount: Int) {
        var next = node + 1
        while next < count {
            self[next] += amount
            next += 1
        }
    }
}

extension ChunkedList: Sendable where Element: Sendable {}
extension ChunkedList.Branch: Sendable where Element: Sendable {}

extension ChunkedList: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    /// Reading is O(log n).
    package subscript(index: Int) -> Element {
        get {
            precondition(index >= 0 && index < count, "index out of range")
            let branch = starts.place(of: index)
            return branches[branch][index - starts[branch]]
        }
        set {
            precondition(index >= 0 && index < count, "index out of range")
            let branch = starts.place(of: index)
            branches[branch][index - starts[branch]] = newValue
        }
    }
}
