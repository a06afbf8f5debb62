internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// Removes acknowledged changesets from the outbox, once the server's state of their objects is here, and reverts those
/// that the server rejected.
final class OutboxSettlement {
    private let storage: SQLiteClientStorage
    private let schema: SchemaAgreement
    private let images: ObjectImages
    private let memberships: ObjectMemberships
    private let acknowledgements: Acknowledgements
    private let offers: KeptObjectOffers
    private let rejected: StoredRejections
    private let transfers: TransferReports
    private let keepsRejected: Bool
    /// The properties that are hidden from the user, as far as the open transaction has asked for them.
    private var hidden: [Int: PropertySet] = [:]
    /// The rejected writes that the open transaction has reverted.
    private var unreported: [WriteRejection] = []
    /// Why transactions were rejected, by sequence; for those who wait for one.
    private(set) var verdicts: [UInt64: SyncError] = [:]

    init(
        _ storage: SQLiteClientStorage, _ schema: SchemaAgreement, _ images: ObjectImages,
        _ memberships: ObjectMemberships, _ acknowledgements: Acknowledgements, _ offers: KeptObjectOffers,
        _ rejected: StoredRejections, _ transfers: TransferReports, keepsRejected: Bool
    ) {
        self.storage = storage
        self.schema = schema
        self.images = images
        self.memberships = memberships
        self.acknowledgements = acknowledgements
        self.offers = offers
        self.rejected = rejected
        self.transfers = transfers
        self.keepsRejected = keepsRejected
    }

    /// The rejected writes that were reverted since the last call, and the reason of each rejected transaction by its
    /// sequence.
    func takeReports() -> (reports: [WriteRejection], verdicts: [UInt64: SyncError]) {
        defer {
            unreported = []
            verdicts = [:]
        }
        return (unreported, verdicts)
    }

    // MARK: Acknowledged

    /// Removes acknowledged changesets from the outbox, in the open transaction.
    func retire(_ transaction: StoreTransaction) throws {
        let rejections = acknowledgements.rejections
        hidden = try schema.map.map { try ReadingContext(storage).hidden(by: $0) } ?? [:]
        guard
            storage.subscriptionCount > 0 || !rejections.isEmpty || images.hasLost || offers.isOn || !hidden.isEmpty
        else {
            return try retireUnasked()
        }
        var rejectedObjects: Set<ObjectRef> = []
        let changesets = try storage.removeFromOutbox(through: acknowledgements.sequence)
        for changeset in changesets {
            guard let rejection = rejections[changeset.sequence] else {
                if images.hasLost { try note(reportsOfLost(changeset), of: changeset) }
                transfers.note(changeset)
                continue
            }
            let reports = reports(of: rejection, changeset)
            try note(reports, of: changeset, keeping: keepsRejected ? changeset.operations : [])
            transfers.note(changeset) { [storage] object in
                let identity = Identity(className: storage.schema[object.classIndex].name, key: object.key)
                return (reports.first { $0.object == identity } ?? reports.first)?.reason
            }
            rejectedObjects.formUnion(changeset.objects)
        }
        let accepted = OperationsByObject(changesets.lazy.filter { rejections[$0.sequence] == nil })
        var linkTargets: Set<ObjectRef> = []
        for object in changesets.objects {
            linkTargets.formUnion(
                try reconcile(object, accepted: accepted, isRejected: rejectedObjects.contains(object), transaction))
            // It may be one that its author may not read.
            if offers.isOn, try !storage.isHeld(object, excluding: nil) { offers.add([object]) }
        }
        try judge(linkTargets, transaction)
    }

    /// Removes those targets of links which show again that the server does not have. What was written here and deleted
    /// by others, while a write from here hid the link, is still here.
    private func judge(_ targets: Set<ObjectRef>, _ transaction: StoreTransaction) throws {
        for target in targets where try !storage.hasPending(target) {
            if try memberships.isMissedByMembers(target) {
                try images.evict(target, reason: .deleted, transaction)
            } else if try !memberships.isMemberOfAny(target) {
                try noteWritten(target)
            }
        }
    }

    /// Has the subscriptions that are not complete and follow a link to an object say whether the server has it.
    private func noteWritten(_ object: ObjectRef) throws {
        for follower in try memberships.incompleteFollowers(of: object) { follower.staged.noteWritten(object) }
    }

    /// Removes acknowledged changesets from the outbox of a store without subscriptions. What was written stays.
    private func retireUnasked() throws {
        let changesets = try storage.removeFromOutbox(through: acknowledgements.sequence)
        for changeset in changesets { transfers.note(changeset) }
        let hasImages = try storage.hasBaseImages
        guard storage.outboxCount > 0 || hasImages else { return }
        let accepted = OperationsByObject(changesets)
        var seen: Set<ObjectRef> = []
        for changeset in changesets {
            // What was created one after the other is mostly in no other transaction.
            if !hasImages, let range = changeset.objectRange, try storage.hasNothingPending(in: range) { continue }
            for object in changeset.objects {
                let isPending = try storage.hasPending(object)
                guard hasImages || isPending, seen.insert(object).inserted else { continue }
                var base: BaseImage?
                if isPending {
                    // The image to show if the server rejects the pending rest.
                    let image = images.image(try images.keptImage(of: object), after: accepted[object])
                    base = image.map(BaseImage.row) ?? BaseImage.none
                }
                try storage.setBaseImage(base, of: object)
            }
        }
    }

    /// Shows the state of an object after the server has accepted operations on it.
    ///
    /// If the server's image arrived just now, or if a complete subscription has the object, the last image already
    /// includes the result of the operations and is shown. Otherwise what was written stays. The last image is then
    /// kept, if a subscription that resumes may turn out to have the object unchanged.
    ///
    /// - Returns: the objects to which the object links from now on and did not before.
    private func reconcile(
        _ object: ObjectRef, accepted: OperationsByObject, isRejected: Bool, _ transaction: StoreTransaction
    ) throws -> Set<ObjectRef> {
        transaction.touch(object)
        if try transaction.serverImages.contains(object) || memberships.isCompletelySynced(object) {
            return try images.showServerImage(of: object, transaction)
        }
        var image = try images.keptImage(of: object)
        let isPending = try storage.hasPending(object)
        if !isPending, images.isLost(object, at: .max), images.image(image, after: accepted[object]) == nil {
            images.regain(object)
            try images.evict(object, reason: .permission, transaction)
            try storage.setBaseImage(nil, of: object)
            return []
        }
        if try !isPending && memberships.isMissedByMembers(object) {
            images.noteUnconfirmed(object)
            try images.evict(object, reason: .deleted, transaction)
            return []
        }
        let isMember = try memberships.isMemberOfAny(object)
        if !isMember, !isPending { try noteWritten(object) }
        var linkTargets: Set<ObjectRef> = []
        if !isMember || isRejected {
            image = images.image(image, after: accepted[object])
            // The server does not say what became of them.
            if let properties = hidden[object.classIndex] {
                image = image?.without(properties, of: storage.schema[object.classIndex])
            }
            linkTargets = try images.show(image, of: object, transaction)
        }
        if !isMember {
            try storage.setBaseImage(isPending ? image.map(BaseImage.row) ?? BaseImage.none : nil, of: object)
        } else if !isPending {
            images.noteUnconfirmed(object)
        }
        return linkTargets
    }

    // MARK: Rejected

    /// Stores reports, in the open transaction, until somebody is told of them.
    private func note(
        _ reports: [WriteRejection], of changeset: Changeset, keeping operations: [ObjectOperation] = []
    ) throws {
        guard !reports.isEmpty || !operations.isEmpty else { return }
        verdicts[changeset.sequence] = reports.first?.reason
        unreported += try rejected.add(reports, keeping: operations)
    }

    /// The reports of the writes of a transaction that had no effect, since their objects were not there for the user.
    private func reportsOfLost(_ changeset: Changeset) -> [WriteRejection] {
        let operations = Dictionary(grouping: changeset.operations, by: \.object)
        return operations.keys.sorted().compactMap { object in
            let written = operations[object] ?? []
            guard images.isLost(object, at: changeset.sequence),
                !written.contains(where: { if case .create = $0.action { true } else { false } })
            else { return nil }
            return WriteRejection(
                object: Identity(className: storage.schema[object.classIndex].name, key: object.key),
                reason: .withoutEffect, rejectedValues: values(of: written))
        }
    }

    /// The reports of a transaction that the server rejected.
    private func reports(of rejection: ServerMessage.Rejection, _ changeset: Changeset) -> [WriteRejection] {
        rejection.reasons.map { reason in
            let object = reason.object.flatMap { schema.map?.fromServer($0) }
            return WriteRejection(
                object: object.map { Identity(className: storage.schema[$0.classIndex].name, key: $0.key) },
                reason: SyncError(SyncError.Code(reason.code), reason.message),
                rejectedValues: values(of: changeset.operations.filter { $0.object == object }))
        }
    }

    /// Shows the server's state again instead of rejected values, in the open transaction.
    ///
    /// - Parameter objects: the objects whose rejected values go; nil for all.
    func discardRejected(of objects: Set<ObjectRef>?, _ transaction: StoreTransaction) throws {
        var linkTargets: Set<ObjectRef> = []
        for object in try rejected.discard(objects) { linkTargets.formUnion(try images.reveal(object, transaction)) }
        try judge(linkTargets, transaction)
    }

    /// Drops changesets whose objects are forgotten too; in the open transaction.
    func drop(through sequence: UInt64) throws {
        for operation in try storage.removeFromOutbox(through: sequence).flatMap(\.operations) {
            if try !storage.hasPending(operation.object) { try storage.setBaseImage(nil, of: operation.object) }
        }
    }

    /// Rejects writes that are not to be sent, or not again, and reports each; in the open transaction.
    func reject(through sequence: UInt64, because reason: SyncError) throws {
        for changeset in try storage.removeFromOutbox(through: sequence) {
            try note(
                changeset.operations.map { operation in
                    WriteRejection(
                        object: Identity(
                            className: storage.schema[operation.object.classIndex].name, key: operation.object.key),
                        reason: reason, rejectedValues: values(of: [operation]))
                }, of: changeset)
            transfers.note(changeset) { _ in reason }
            for operation in changeset.operations {
                if try !storage.hasPending(operation.object) { try storage.setBaseImage(nil, of: operation.object) }
            }
        }
    }

    /// Why writes are rejected that may have been sent in an earlier session: the server cannot tell whether it has
    /// accepted them, and applying one twice would be a silent error.
    static let forgotten = SyncError(
        .writeRejected,
        "the server has forgotten this store, which was away too long, and so cannot tell whether it accepted this "
            + "write before; look at what the object is now, and write again what is missing")

    /// Why writes are rejected that a client reset has dropped.
    static let discarded = SyncError(
        .writeRejected,
        "the server has another history than the one that this store knew, and the store's configuration has unsent "
            + "writes dropped then; write again what is missing")

    /// The values that operations set, by the names of their properties.
    private func values(of operations: [ObjectOperation]) -> [String: Value] {
        var values: [String: Value] = [:]
        for operation in operations {
            let declared = storage.schema[operation.object.classIndex]
            for field in operation.fields {
                let name = declared.properties[field.property].name
                switch field.change {
                case .set(let value), .setDefault(let value): values[name] = value
                case .clear: values[name] = field.change.applied(to: declared.properties[field.property].type.zero)
                case .edit(let edits): values[name] = values[name].map(edits.applied) ?? edits.inserted
                case .editList(let edits): values[name] = .list(edits.ordered.compactMap(\.value))
                // What is added to the default of a new object.
                case .add: values[name] = values[name].map(field.change.applied)
                }
            }
        }
        return values
    }
}

extension Changeset {
    /// From the least to the greatest of the changed objects; nil if nothing is changed.
    fileprivate var objectRange: ClosedRange<ObjectRef>? {
        let objects = objects
        guard var least = objects.first else { return nil }
        var greatest = least
        for object in objects.dropFirst() {
            // They mostly ascend.
            if greatest < object {
                greatest = object
            } else if object < least {
                least = object
            }
        }
        return least...greatest
    }
}

extension [Changeset] {
    /// The objects that the changesets change, each once, in the order of their first change.
    fileprivate var objects: [ObjectRef] {
        var seen: Set<ObjectRef> = []
        return flatMap { $0.objects.filter { seen.insert($0).inserted } }
    }
}

/// The operations of changesets by their objects. They are sorted when the first object is asked for, since most
/// acknowledgements need none.
private final class OperationsByObject {
    private let changesets: [Changeset]
    private lazy var operations = Dictionary(grouping: changesets.lazy.flatMap(\.operations), by: \.object)

    init(_ changesets: some Sequence<Changeset>) { self.changesets = Array(changesets) }

    subscript(object: ObjectRef) -> [ObjectOperation] { operations[object] ?? [] }
}

extension SyncError {
    /// What is reported of a write that the server took, of an object that was not there for its author.
    package static let withoutEffect = SyncError(
        .notPermitted,
        "the object is not there for this user any more: it was deleted, or may not be read; so the write had no effect"
    )
}
