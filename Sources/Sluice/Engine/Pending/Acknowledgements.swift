internal import SluiceWire

/// What the server has said in the open session of the uploads of this store.
final class Acknowledgements {
    /// The highest acknowledged sequence. The outbox keeps the changesets until the server's state of their objects is
    /// here too.
    private(set) var sequence: UInt64 = 0
    /// The rejections of transactions in the outbox, by sequence.
    private(set) var rejections: [UInt64: ServerMessage.Rejection] = [:]

    func note(_ sequence: UInt64) { self.sequence = max(self.sequence, sequence) }

    func note(_ rejections: [ServerMessage.Rejection]) {
        for rejection in rejections { self.rejections[rejection.sequence] = rejection }
    }

    /// Drops the rejections of transactions that have left the outbox.
    func forgetRejections() {
        guard !rejections.isEmpty else { return }
        rejections = rejections.filter { $0.key > sequence }
    }

    /// Begins a session, in which the server has said so much.
    func begin(at sequence: UInt64 = 0, _ rejections: [ServerMessage.Rejection] = []) {
        self.sequence = sequence
        self.rejections = [:]
        note(rejections)
    }
}
