import SluiceModel

/// Computes the index change of a list from the elements that were edited; all others keep their relative order.
///
/// Unedited elements are identified by their rank among the unedited, which the edit does not change.
struct ResultDiff {
    struct Item {
        let object: ObjectRef
        let oldIndex: Int?
        let reason: RemovalReason
        let isModified: Bool
        var newIndex: Int?
    }

    var items: [Item] = []
    private let oldCount: Int
    private let oldVisible: Int

    init(oldCount: Int, oldVisible: Int) {
        self.oldCount = oldCount
        self.oldVisible = oldVisible
    }

    mutating func add(_ object: ObjectRef, _ edit: ResultEdit, oldIndex: Int?, isChange: Bool) {
        var reason = RemovalReason.window
        if case .remove(_, let given) = edit { reason = given }
        items.append(Item(object: object, oldIndex: oldIndex, reason: reason, isModified: isChange))
    }

    func change(newVisible: Int) -> ResultChange {
        let old = Ranks(edited: items.compactMap(\.oldIndex))
        let new = Ranks(edited: items.compactMap(\.newIndex))
        var change = ResultChange()
        let uneditedBefore = old.uneditedCount(before: oldVisible)
        let uneditedAfter = new.uneditedCount(before: newVisible)
        if uneditedAfter < uneditedBefore {
            for rank in uneditedAfter..<uneditedBefore {
                change.deletions.append(.init(index: old.index(ofRank: rank), reason: .window))
            }
        } else {
            for rank in uneditedBefore..<uneditedAfter { change.insertions.append(new.index(ofRank: rank)) }
        }
        var retained: [(old: Int, new: Int)] = []
        for item in items {
            let oldIndex = item.oldIndex.flatMap { $0 < oldVisible ? $0 : nil }
            let newIndex = item.newIndex.flatMap { $0 < newVisible ? $0 : nil }
            switch (oldIndex, newIndex) {
            case (nil, nil): break
            case (let oldIndex?, nil): change.deletions.append(.init(index: oldIndex, reason: item.reason))
            case (nil, let newIndex?): change.insertions.append(newIndex)
            case (let oldIndex?, let newIndex?):
                retained.append((oldIndex, newIndex))
                if item.isModified { change.modifications.append(newIndex) }
            }
        }
        change.moves = moves(of: retained, unedited: Swift.min(uneditedBefore, uneditedAfter), old: old, new: new)
        change.deletions.sort { $0.index < $1.index }
        change.insertions.sort()
        change.modifications.sort()
        change.moves.sort { $0.to < $1.to }
        return change
    }

    /// The smallest set of moves among the edited elements that stay and the first `unedited` others. A run of unedited
    /// elements without edits between them counts as one block.
    private func moves(
        of retained: [(old: Int, new: Int)], unedited: Int, old: Ranks, new: Ranks
    ) -> [ResultChange.Move] {
        struct Block {
            let oldIndex: Int
            let newIndex: Int
            let ranks: Range<Int>?
        }
        guard !retained.isEmpty else { return [] }
        var cuts: Set<Int> = [0, unedited]
        for item in retained {
            cuts.insert(Swift.min(old.uneditedCount(before: item.old), unedited))
            cuts.insert(Swift.min(new.uneditedCount(before: item.new), unedited))
        }
        let sortedCuts = cuts.sorted()
        var blocks = retained.map { Block(oldIndex: $0.old, newIndex: $0.new, ranks: nil) }
        for (start, end) in zip(sortedCuts, sortedCuts.dropFirst()) {
            blocks.append(
                Block(oldIndex: old.index(ofRank: start), newIndex: new.index(ofRank: start), ranks: start..<end))
        }
        blocks.sort { $0.oldIndex < $1.oldIndex }
        var ranks = [Int](repeating: 0, count: blocks.count)
        let byNewIndex = blocks.indices.sorted { blocks[$0].newIndex < blocks[$1].newIndex }
        for (rank, index) in byNewIndex.enumerated() { ranks[index] = rank }
        let moved = MinimalMoves.moved(blocks.indices.map { (ranks[$0], blocks[$0].ranks?.count ?? 1) })
        return moved.flatMap { index -> [ResultChange.Move] in
            let block = blocks[index]
            guard let range = block.ranks else { return [.init(from: block.oldIndex, to: block.newIndex)] }
            return range.map { .init(from: old.index(ofRank: $0), to: new.index(ofRank: $0)) }
        }
    }
}

/// Translates between indices of a list and ranks among its unedited elements.
private struct Ranks {
    /// The indices of the edited elements, ascending.
    private let edited: [Int]

    init(edited: [Int]) {
        self.edited = edited.sorted()
    }

    /// How many unedited elements have an index below `index`.
    func uneditedCount(before index: Int) -> Int { index - partition { edited[$0] >= index } }

    /// The index of the unedited element with a rank.
    func index(ofRank rank: Int) -> Int { rank + partition { edited[$0] - $0 > rank } }

    /// The first position in `edited` at which `isBeyond` holds.
    private func partition(_ isBeyond: (Int) -> Bool) -> Int {
        var low = 0
        var high = edited.count
        while low < high {
            let middle = (low + high) / 2
            if isBeyond(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
