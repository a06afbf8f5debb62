/// The receipts of the writes whose fate somebody may ask for.
package final class WriteReceipts {
    private struct Weak {
        weak var receipt: WriteReceipt?
    }

    private var waiting: [UInt64: Weak] = [:]
    /// The numbers of the writes in the order in which they were written, which is ascending. Those before `next` are
    /// acknowledged, and some of the others rejected.
    private var order: [UInt64] = []
    private var next = 0
    /// How often a waiting write was looked at. Tests use it to see how the work grows.
    package private(set) var lookCount = 0

    package init() {}

    /// Adds the receipt of a write that is stored.
    ///
    /// - Parameter sequence: the number of the write's transaction in the outbox; nil if nothing is to be uploaded.
    package func add(_ receipt: WriteReceipt, sequence: UInt64?) {
        guard let sequence else { return receipt.noteAnswer(nil) }
        precondition(order.last.map { $0 < sequence } ?? true, "writes are numbered in their order")
        receipt.noteStored()
        waiting[sequence] = Weak(receipt: receipt)
        order.append(sequence)
    }

    /// Notes that the server has rejected transactions. O(rejected).
    package func reject(_ verdicts: [UInt64: SyncError]) {
        guard !waiting.isEmpty else { return }
        for (sequence, reason) in verdicts { waiting.removeValue(forKey: sequence)?.receipt?.noteAnswer(reason) }
    }

    /// Notes that transactions have left the outbox. O(those that have), however many wait.
    package func acknowledge(through sequence: UInt64) {
        while next < order.count {
            lookCount += 1
            guard order[next] <= sequence else { break }
            waiting.removeValue(forKey: order[next])?.receipt?.noteAnswer(nil)
            next += 1
        }
        guard next * 2 > order.count else { return }
        order.removeFirst(next)
        next = 0
    }
}
