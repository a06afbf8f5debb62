import Sluice
import Testing

/// What it costs to settle the receipts of writes.
@Suite struct WriteReceiptTests {
    /// Receipts that somebody holds.
    private final class Waiting {
        let receipts = WriteReceipts()
        let held: [WriteReceipt]

        init(_ count: Int) {
            held = (0..<count).map { _ in WriteReceipt() }
            for (index, receipt) in held.enumerated() { receipts.add(receipt, sequence: UInt64(index + 1)) }
        }

        /// The numbers of the writes that the server has.
        var uploaded: [Int] {
            held.indices.filter { if case .uploaded = held[$0].fate { true } else { false } }.map { $0 + 1 }
        }
    }

    private func isWaiting(_ receipt: WriteReceipt) -> Bool { if case .waiting = receipt.fate { true } else { false } }

    private func isRejected(_ receipt: WriteReceipt) -> Bool {
        if case .rejected = receipt.fate { true } else { false }
    }

    @Test(arguments: [100, 10_000])
    func anAcknowledgementLooksAtWhatItEndsHoweverManyWait(count: Int) {
        let waiting = Waiting(count)
        waiting.receipts.acknowledge(through: 0)
        #expect(waiting.receipts.lookCount == 1)
        waiting.receipts.acknowledge(through: 3)
        #expect(waiting.receipts.lookCount == 1 + 4)
        #expect(waiting.uploaded == [1, 2, 3])
        // One by one, each is looked at twice: once as the first that waits on.
        for sequence in 4...UInt64(count) { waiting.receipts.acknowledge(through: sequence) }
        #expect(waiting.receipts.lookCount <= 2 * count + 2)
        #expect(waiting.uploaded.count == count)
    }

    @Test func aRejectedWriteStaysRejectedWhenThoseAfterItAreAcknowledged() {
        let waiting = Waiting(5)
        waiting.receipts.reject([3: SyncError(.writeRejected, "no")])
        waiting.receipts.acknowledge(through: 4)
        #expect(waiting.uploaded == [1, 2, 4])
        #expect(isRejected(waiting.held[2]))
        #expect(isWaiting(waiting.held[4]))
    }

    @Test func aReceiptThatNobodyHoldsIsAnsweredUnseen() {
        let receipts = WriteReceipts()
        receipts.add(WriteReceipt(), sequence: 1)
        let held = WriteReceipt()
        receipts.add(held, sequence: 2)
        receipts.acknowledge(through: 2)
        #expect(!isWaiting(held) && !isRejected(held))
    }
}
