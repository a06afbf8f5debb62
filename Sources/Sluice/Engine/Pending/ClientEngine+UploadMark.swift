internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// How much of its outbox this store may have uploaded. The mark is kept on disk.
///
/// A server that has a record of the client knows what it has accepted from it. A server that has forgotten the client
/// would accept the same upload twice. So what may have been sent already is not sent to such a server again.
enum UploadMark: Equatable {
    /// No changeset after this one was sent.
    case through(UInt64)
    /// A session is open, so everything in the outbox may have been sent.
    case open
}

extension ClientEngine {
    private static let name = "uploads"

    var uploadMark: UploadMark {
        get throws {
            guard let bytes = try storage.metadata(Self.name), bytes.count == 8 else { return .through(0) }
            let number = bytes.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
            return number == .max ? .open : .through(number)
        }
    }

    /// Stores the mark, inside a transaction.
    func markUploads(_ mark: UploadMark) throws {
        // Readers and short-lived clients have no lasting record on a server.
        guard !options.isReadOnly, !options.isShortLived, try uploadMark != mark else { return }
        let number: UInt64 = if case .through(let sequence) = mark { sequence } else { .max }
        try storage.setMetadata(Self.name, withUnsafeBytes(of: number.bigEndian) { Array($0) })
    }

    /// Rejects the writes that may have been sent in an earlier session, because the server has forgotten this client
    /// and cannot tell whether it accepted them. Applying one twice would be a silent error, so each is reported as
    /// rejected.
    func rejectUncertainUploads() throws {
        guard case .through(let sequence) = try uploadMark, storage.outboxCount > 0 else { return }
        try transaction(.local) { _ in
            for changeset in try storage.removeFromOutbox(through: sequence) {
                for operation in changeset.operations {
                    unreportedRejections.append(rejection(of: operation))
                    if try !storage.hasPending(operation.object) { try storage.setBaseImage(nil, of: operation.object) }
                }
            }
        }
        reportRejections()
    }

    private func rejection(of operation: ObjectOperation) -> WriteRejection {
        let declared = schema[operation.object.classIndex]
        var values: [String: Value] = [:]
        for field in operation.fields {
            if case .set(let value) = field.change { values[declared.properties[field.property].name] = value }
        }
        return WriteRejection(
            object: Identity(className: declared.name, key: operation.object.key),
            reason: SyncError(
                .writeRejected,
                "the server has forgotten this store, which was away too long, and so cannot tell whether it accepted "
                    + "this write before; look at what the object is now, and write again what is missing"),
            rejectedValues: values)
    }
}
