/// The subscriptions of one session, by number. There may be hundreds of thousands, so the list takes eight bytes for
/// each.
///
/// They are in the order of their numbers, in chunks of some hundred. Most are appended; O(log n + √n) at the worst.
struct SubscriptionList {
    private static let chunkCountMax = 512

    /// None is empty.
    private var chunks: [[ViewSubscription]] = []
    private(set) var count = 0

    /// The subscription with a number.
    subscript(id: UInt64) -> ViewSubscription? {
        let (chunk, index) = place(of: id)
        guard chunk < chunks.count, index < chunks[chunk].count, chunks[chunk][index].id == id else { return nil }
        return chunks[chunk][index]
    }

    /// The place of the first subscription whose number is not below `id`, in the last chunk that begins at or below
    /// it.
    private func place(of id: UInt64) -> (chunk: Int, index: Int) {
        let chunk = max(0, Self.firstIndex(in: 0..<chunks.count) { chunks[$0][0].id > id } - 1)
        guard chunk < chunks.count else { return (0, 0) }
        return (chunk, Self.firstIndex(in: 0..<chunks[chunk].count) { chunks[chunk][$0].id >= id })
    }

    /// The first index for which a condition holds that holds for all later ones, or the end.
    private static func firstIndex(in indices: Range<Int>, where holds: (Int) -> Bool) -> Int {
        var (low, high) = (indices.lowerBound, indices.upperBound)
        while low < high {
            let middle = (low + high) / 2
            if holds(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Adds a subscription with a number that none of the others has.
    mutating func insert(_ subscription: ViewSubscription) {
        count += 1
        guard let last = chunks.last else {
            chunks = [[subscription]]
            return
        }
        if last[last.count - 1].id < subscription.id, last.count == Self.chunkCountMax {
            var chunk: [ViewSubscription] = []
            chunk.reserveCapacity(Self.chunkCountMax)
            chunk.append(subscription)
            chunks.append(chunk)
            return
        }
        let (chunk, index) = place(of: subscription.id)
        chunks[chunk].insert(subscription, at: index)
        guard chunks[chunk].count > Self.chunkCountMax else { return }
        let half = chunks[chunk].count / 2
        chunks.insert(Array(chunks[chunk][half...]), at: chunk + 1)
        chunks[chunk].removeSubrange(half...)
    }

    /// Removes the subscription with a number.
    ///
    /// - Returns: the subscription; nil if there is none.
    mutating func remove(_ id: UInt64) -> ViewSubscription? {
        let (chunk, index) = place(of: id)
        guard chunk < chunks.count, index < chunks[chunk].count, chunks[chunk][index].id == id else { return nil }
        count -= 1
        defer { if chunks[chunk].isEmpty { chunks.remove(at: chunk) } }
        return chunks[chunk].remove(at: index)
    }

    /// Replaces the subscription that has the same number.
    mutating func replace(by subscription: ViewSubscription) {
        let (chunk, index) = place(of: subscription.id)
        guard chunk < chunks.count, index < chunks[chunk].count, chunks[chunk][index].id == subscription.id else {
            return
        }
        chunks[chunk][index] = subscription
    }

    mutating func removeAll() { self = SubscriptionList() }

    /// All of them, in the order of their numbers.
    var all: some Sequence<ViewSubscription> { chunks.joined() }
}
