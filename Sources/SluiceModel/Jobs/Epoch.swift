/// A stretch of a database's history: the versions after `start`, up to the start of the next epoch.
package struct Epoch: Hashable, Sendable {
    package let id: UInt64
    package let start: UInt64

    package init(id: UInt64, start: UInt64) {
        self.id = id
        self.start = start
    }
}

extension [Epoch] {
    /// The epoch that a version belongs to, of epochs in the order of their starts; 0 where it is not known. O(log n).
    package func epoch(ofVersion version: UInt64) -> UInt64 {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if self[middle].start < version { low = middle + 1 } else { high = middle }
        }
        return low == startIndex ? 0 : self[low - 1].id
    }

    /// Those to which versions belong.
    package func covering(_ versions: some Sequence<UInt64>) -> [Epoch] {
        guard count > 1 else { return self }
        let ids = Set(versions.lazy.map { epoch(ofVersion: $0) })
        // One that follows them is needed to tell where they end.
        return indices.filter { ids.contains(self[$0].id) || $0 > startIndex && ids.contains(self[$0 - 1].id) }
            .map { self[$0] }
    }
}
