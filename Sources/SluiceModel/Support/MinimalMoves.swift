/// Finds the smallest set of elements that must move to bring a list into another order: all but a heaviest increasing
/// subsequence (Fredman, "On computing the length of longest increasing subsequences", 1975).
package enum MinimalMoves {
    /// - Parameter items: the elements in the old order. `rank` is the place in the new order, distinct and below the
    ///   count; `weight` is the number of elements that the item stands for.
    /// - Returns: the positions in `items` of those that must move, ascending. O(n log n).
    package static func moved(_ items: [(rank: Int, weight: Int)]) -> [Int] {
        // A Fenwick tree over ranks holds the heaviest chain that ends at or before a rank.
        var tree = [Int](repeating: -1, count: items.count + 1)
        var chainWeight = [Int](repeating: 0, count: items.count)
        var previous = [Int](repeating: -1, count: items.count)
        var best = -1
        for (index, item) in items.enumerated() {
            var rank = item.rank
            while rank > 0 {
                let end = tree[rank]
                if end >= 0, previous[index] < 0 || chainWeight[end] > chainWeight[previous[index]] {
                    previous[index] = end
                }
                rank -= rank & -rank
            }
            chainWeight[index] = item.weight + (previous[index] < 0 ? 0 : chainWeight[previous[index]])
            rank = item.rank + 1
            while rank <= items.count {
                if tree[rank] < 0 || chainWeight[tree[rank]] < chainWeight[index] { tree[rank] = index }
                rank += rank & -rank
            }
            if best < 0 || chainWeight[best] < chainWeight[index] { best = index }
        }
        var stays = [Bool](repeating: false, count: items.count)
        while best >= 0 {
            stays[best] = true
            best = previous[best]
        }
        return items.indices.filter { !stays[$0] }
    }
}
