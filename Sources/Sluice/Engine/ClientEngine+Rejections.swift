package import SluiceModel
internal import SluiceStorage

/// What the server has rejected.
extension ClientEngine {
    /// What was rejected and nobody was told of, also in earlier processes.
    package var unreportedRejections: [WriteRejection] { rejected.unreported }

    /// Notes that a handler was told of a rejection.
    package func noteReported(_ rejection: WriteRejection) {
        guard let number = rejection.number, storage.obstacle == nil else { return }
        faults.recording("it could not be noted that a rejection was reported") {
            try transactions.run(.local) { _ in try rejected.noteReported([number]) }
        }
    }

    /// Shows the server's state again instead of rejected values.
    ///
    /// - Parameter object: the object whose rejected values go; nil for those of all objects.
    package func discardRejectedWrites(of object: Identity?) throws {
        let reference = try object.map { object in
            guard let classIndex = storage.schema.index(of: object.className) else {
                throw StoreError(.unknownClass, MissingNames.text(class: object.className))
            }
            return ObjectRef(classIndex, object.key)
        }
        try outbox.discardRejected(of: reference.map { [$0] })
    }
}
