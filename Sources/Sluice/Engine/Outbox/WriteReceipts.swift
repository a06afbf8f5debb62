/// The receipts of the writes whose fate somebody may ask for.
final class WriteReceipts {
    private struct Weak {
        weak var receipt: WriteReceipt?
    }

    private var waiting: [UInt64: Weak] = [:]

    /// Adds the receipt of a write that is stored.
    ///
    /// - Parameter sequence: the number of the write's transaction in the outbox; nil if nothing is to be uploaded.
    func add(_ receipt: WriteReceipt, sequence: UInt64?) {
        guard let sequence else { return receipt.settle(nil) }
        receipt.noteStored()
        waiting[sequence] = Weak(receipt: receipt)
    }

    /// Notes that the server has rejected transactions.
    func reject(_ verdicts: [UInt64: SyncError]) {
        guard !waiting.isEmpty else { return }
        for (sequence, reason) in verdicts { waiting.removeValue(forKey: sequence)?.receipt?.settle(reason) }
    }

    /// Notes that transactions have left the outbox.
    func settle(through sequence: UInt64) {
        guard !waiting.isEmpty else { return }
        for number in waiting.keys.filter({ $0 <= sequence }) {
            waiting.removeValue(forKey: number)?.receipt?.settle(nil)
        }
    }
}
