internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

extension ClientEngine {
    /// Runs a local write transaction: all of it is stored and queued for upload, or nothing.
    package func write<Result>(_ body: (LocalWriter) throws -> Result) throws -> Result {
        let result = try transaction(.local) { transaction in
            let writer = LocalWriter(transaction, schema: schema, isRecording: syncs)
            let result = try body(writer)
            try enqueue(writer, transaction)
            return result
        }
        pumpUploads()
        return result
    }

    /// Puts what the writer did into the outbox, and keeps the server's image of every object it touched first.
    private func enqueue(_ writer: LocalWriter, _ transaction: StoreTransaction) throws {
        guard syncs, !writer.operations.isEmpty else { return }
        try TransactionLimit.check(writer.operations)
        let written = Set(writer.operations.map(\.object))
        for (object, old) in writer.firstImages where try written.contains(object) && !storage.hasPending(object) {
            if unconfirmed.remove(object) != nil { continue }
            // Nothing of it is under way, so the server has it as it was. Of what was not here no image is kept.
            if let old { try storage.setBaseImage(.row(old), of: object) }
        }
        let timestamp = clock.tick(now: now())
        try storage.setClock(timestamp)
        try storage.appendToOutbox(
            Changeset(
                sequence: storage.lastSequence + 1, baseVersion: storage.syncState?.version ?? 0, timestamp: timestamp,
                operations: writer.operations))
    }
}
