/// Keeps the timers of one event loop, as a binary heap of deadlines.
struct TimerQueue {
    private struct Entry {
        var deadline: Int64
        var id: UInt64
    }

    private var heap: [Entry] = []
    private var actions: [UInt64: () -> Void] = [:]
    private var lastID: UInt64 = 0

    /// Adds a timer. O(log n).
    ///
    /// - Parameter deadline: nanoseconds of the monotonic clock.
    mutating func add(deadline: Int64, action: @escaping () -> Void) -> UInt64 {
        lastID += 1
        actions[lastID] = action
        heap.append(Entry(deadline: deadline, id: lastID))
        siftUp(heap.count - 1)
        return lastID
    }

    /// Removes a timer if it has not fired. Amortised O(1).
    mutating func remove(_ id: UInt64) {
        actions[id] = nil
        guard heap.count > 64, heap.count > actions.count * 2 else { return }
        heap.removeAll { actions[$0.id] == nil }
        heap.sort { $0.deadline < $1.deadline }
    }

    /// The earliest deadline.
    mutating func nextDeadline() -> Int64? {
        while let first = heap.first, actions[first.id] == nil { removeFirst() }
        return heap.first?.deadline
    }

    /// Removes the earliest timer if it is due, and returns its action.
    mutating func takeDue(now: Int64) -> (() -> Void)? {
        guard let deadline = nextDeadline(), deadline <= now else { return nil }
        let id = heap[0].id
        removeFirst()
        return actions.removeValue(forKey: id)
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [parent * 2 + 1, parent * 2 + 2]
            where child < heap.count && heap[child].deadline < heap[least].deadline {
                least = child
            }
            guard least != parent else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }

    private mutating func siftUp(_ index: Int) {
        var child = index
        while child > 0, heap[child].deadline < heap[(child - 1) / 2].deadline {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }
}
