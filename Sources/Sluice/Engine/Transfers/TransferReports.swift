internal import SluiceModel
internal import SluiceStorage

/// Reports which objects have travelled, as long as somebody listens.
final class TransferReports {
    private let storage: SQLiteClientStorage
    /// Whether anybody listens.
    var hasListeners: () -> Bool = { false }
    /// Called for each step that has carried objects.
    var onTransfer: (ObjectTransfer) -> Void = { _ in }
    /// The objects of the uploads that the open transaction retires.
    private var pushed: [ObjectTransfer.Object] = []
    /// The objects of which the server has rejected writes, which the open transaction reverts.
    private var rejected: Set<ObjectRef> = []

    init(_ storage: SQLiteClientStorage) { self.storage = storage }

    private func identity(_ object: ObjectRef) -> Identity {
        Identity(className: storage.schema[object.classIndex].name, key: object.key)
    }

    // MARK: Uploads

    /// Notes a transaction that leaves the outbox.
    ///
    /// - Parameter error: why the server has rejected an object, or the transaction; nil if it has not.
    func note(_ changeset: Changeset, error: (ObjectRef) -> SyncError? = { _ in nil }) {
        guard hasListeners() else { return }
        for operation in changeset.operations {
            let isDeletion = if case .delete = operation.action { true } else { false }
            let error = error(operation.object)
            if error != nil { rejected.insert(operation.object) }
            pushed.append(
                .init(identity: identity(operation.object), removal: isDeletion ? .deleted : nil, error: error))
        }
    }

    /// Forgets what the open transaction has noted, since it has failed.
    func rollBack() {
        pushed = []
        rejected = []
    }

    // MARK: Reporting

    /// Reports what a transaction that is stored has carried.
    ///
    /// - Parameter isRemote: whether it stored what the server has sent.
    func report(_ transaction: StoreTransaction, isRemote: Bool) throws {
        let (uploaded, reverted) = (pushed, rejected)
        rollBack()
        if !uploaded.isEmpty { onTransfer(ObjectTransfer(direction: .upload, objects: uploaded)) }
        guard isRemote, hasListeners() else { return }
        var objects: [ObjectTransfer.Object] = []
        for state in transaction.firstStates {
            let object = state.object
            let new = try state.known ?? storage.row(object)
            switch (state.row, new) {
            case (nil, nil): continue
            // What the server makes of a write of this store is no news unless it shows.
            case _ where reverted.contains(object): continue
            case (let old?, let new?) where old.showsSame(as: new): continue
            case (_, nil):
                objects.append(
                    .init(identity: identity(object), removal: transaction.reasons[object] ?? .deleted))
            case (_, _?): objects.append(.init(identity: identity(object)))
            }
        }
        if !objects.isEmpty { onTransfer(ObjectTransfer(direction: .download, objects: objects)) }
    }
}

extension Row {
    /// Whether two versions of an object have the same values.
    fileprivate func showsSame(as other: Row) -> Bool {
        absent == other.absent && values.count == other.values.count
            && zip(values, other.values).allSatisfy { $0.isIdentical(to: $1) }
    }
}
