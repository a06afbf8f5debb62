extension ListEdits {
    /// Who makes edits: draws ids, and stands in the places of what is inserted or moved.
    package struct Author {
        package let origin: UInt64
        package let time: Int64
        package let ids: ObjectIDGenerator

        package init(origin: UInt64, time: Int64, ids: ObjectIDGenerator) {
            self.origin = origin
            self.time = time
            self.ids = ids
        }
    }

    /// The edits that make a list have other values: few inserts, moves, erasures and values that are set in place.
    ///
    /// Equal values are paired in the order in which they occur (as in Heckel, "A technique for isolating differences
    /// between files", 1978), and as many as possible of the pairs stay where they are: a longest increasing
    /// subsequence. Where the same gap loses values and gets others, they are taken for values that were set. So for
    /// values that differ from each other the difference is as short as can be, and it never costs more than
    /// O(n log n); a shortest difference of any lists (Myers 1986) costs O(n d).
    ///
    /// - Returns: nil if a place would be too long, so that the list must be set as a whole.
    package static func difference(
        from list: ElementList, to values: [Value], by author: Author
    ) -> ListEdits? {
        let old = list.elements
        var start = 0
        while start < min(old.count, values.count), old[start].value.isIdentical(to: values[start]) {
            start += 1
        }
        var (oldEnd, newEnd) = (old.count, values.count)
        while oldEnd > start, newEnd > start, old[oldEnd - 1].value.isIdentical(to: values[newEnd - 1]) {
            oldEnd -= 1
            newEnd -= 1
        }
        let pairs = Pairs(old[start..<oldEnd], values[start..<newEnd])
        var edits = ListEdits()
        for position in start..<oldEnd where !pairs.isKept(position) { edits.erase(old[position].id) }
        var left = start > 0 ? old[start - 1].place : nil
        // From the left: each new element stands after the one before it, and before the next that stays.
        let rightPlaces = pairs.rightPlaces(old, end: oldEnd < old.count ? old[oldEnd].place : nil)
        for position in start..<newEnd {
            let source = pairs.source(of: position)
            if let source, pairs.stays(position) {
                if !old[source].value.isIdentical(to: values[position]) {
                    edits.set(old[source].id, values[position])
                }
                left = old[source].place
                continue
            }
            guard
                let place = ElementPlace.between(
                    left, rightPlaces[position - start], time: author.time, origin: author.origin)
            else { return nil }
            if let source {
                edits.move(old[source].id, to: place)
            } else {
                edits.insert(author.ids.next(), at: place, values[position])
            }
            left = place
        }
        return edits
    }
}

/// Which old element each new value comes from, and which of those stay.
private struct Pairs {
    private let oldStart: Int
    private let newStart: Int
    private var sources: [Int?]
    private var staying: [Bool]
    private var kept: [Bool]

    init(_ old: ArraySlice<ElementList.Element>, _ values: ArraySlice<Value>) {
        oldStart = old.startIndex
        newStart = values.startIndex
        sources = Array(repeating: nil, count: values.count)
        staying = Array(repeating: false, count: values.count)
        kept = Array(repeating: false, count: old.count)
        var occurrences: [Value: (positions: [Int], next: Int)] = [:]
        for position in old.indices {
            occurrences[old[position].value, default: ([], 0)].positions.append(position)
        }
        for position in values.indices {
            guard var known = occurrences.removeValue(forKey: values[position]) else { continue }
            if known.next < known.positions.count {
                sources[position - newStart] = known.positions[known.next]
                kept[known.positions[known.next] - oldStart] = true
                known.next += 1
            }
            occurrences[values[position]] = known
        }
        let paired = sources.indices.filter { sources[$0] != nil }
        var ranks: [Int: Int] = [:]
        for (rank, source) in paired.compactMap({ sources[$0] }).sorted().enumerated() {
            ranks[source] = rank
        }
        for position in paired { staying[position] = true }
        let moved = MinimalMoves.moved(paired.map { (rank: ranks[sources[$0] ?? 0] ?? 0, weight: 1) })
        for index in moved { staying[paired[index]] = false }
        setInPlace()
    }

    /// Pairs what is left in the gaps between those that stay: the first old with the first new, and so on.
    private mutating func setInPlace() {
        var old = 0
        for position in sources.indices {
            if let source = sources[position] {
                if staying[position] { old = source - oldStart + 1 }
                continue
            }
            var end = position + 1
            while end < sources.count, !staying[end] { end += 1 }
            let limit = end < sources.count ? (sources[end] ?? 0) - oldStart : kept.count
            while old < limit, kept[old] { old += 1 }
            guard old < limit else { continue }
            sources[position] = old + oldStart
            staying[position] = true
            kept[old] = true
            old += 1
        }
    }

    func isKept(_ old: Int) -> Bool { kept[old - oldStart] }
    func source(of new: Int) -> Int? { sources[new - newStart] }
    func stays(_ new: Int) -> Bool { staying[new - newStart] }

    /// For each new value, the place of the next one that stays.
    func rightPlaces(_ old: [ElementList.Element], end: ElementPlace?) -> [ElementPlace?] {
        var places: [ElementPlace?] = Array(repeating: nil, count: sources.count)
        var right = end
        for position in sources.indices.reversed() {
            places[position] = right
            if staying[position], let source = sources[position] { right = old[source].place }
        }
        return places
    }
}
