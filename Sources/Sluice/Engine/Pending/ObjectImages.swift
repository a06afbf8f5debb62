internal import SluiceModel
internal import SluiceStorage

/// What the server says of objects that show something else here: pending writes, or acknowledged ones that no image
/// from the server includes yet.
///
/// The store keeps the server's last image of each such object, and its visible row is that image with the pending
/// operations applied again. For an object without pending or unconfirmed writes it keeps nothing: the row is the
/// server's image.
final class ObjectImages {
    private let storage: SQLiteClientStorage
    private let acknowledgements: Acknowledgements
    private let effects: PendingEffects
    private let rejected: StoredRejections
    /// Objects that show acknowledged writes although no image that includes them has arrived, since no complete
    /// subscription has the objects. The store keeps the server's last image of each, for a subscription that resumes
    /// from it.
    private(set) var unconfirmed: Set<ObjectRef> = []
    /// Objects with pending writes that are not there for the user any more, with the sequence up to which uploads were
    /// acknowledged by then. Later ones have no effect.
    private var lost: [ObjectRef: UInt64] = [:]
    /// Called before an object is removed from this store.
    var willEvict: ((ObjectRef) throws -> Void)?

    init(
        _ storage: SQLiteClientStorage, _ acknowledgements: Acknowledgements, _ rejected: StoredRejections,
        options: ClientOptions
    ) throws {
        self.storage = storage
        self.rejected = rejected
        self.acknowledgements = acknowledgements
        effects = PendingEffects(storage, changesetCountMin: options.backlogChangesetCountMin)
        try findUnconfirmed()
    }

    private func findUnconfirmed() throws {
        unconfirmed = Set(try storage.objectsWithBaseImage.filter { try !storage.hasPending($0) })
    }

    /// How many pending operations were read to compute visible rows. Tests use it to see how this work grows.
    var readCount: Int { effects.readCount }

    /// Returns to what is stored, after a transaction that failed.
    func rollBack() throws {
        effects.removeAll()
        try rejected.rollBack()
        try findUnconfirmed()
    }

    /// Forgets what was computed for the types that properties had before.
    func forgetEffects() { effects.removeAll() }

    // MARK: Images

    /// Whether an object shows something else than the server's last image of it.
    func differs(_ object: ObjectRef) throws -> Bool {
        try unconfirmed.contains(object) || storage.hasPending(object)
    }

    /// The last image of an object that the server sent; nil if the object does not exist there.
    func serverImage(of object: ObjectRef) throws -> Row? {
        try differs(object) ? keptImage(of: object) : storage.row(object)
    }

    /// The image that is kept of an object that shows something else.
    func keptImage(of object: ObjectRef) throws -> Row? {
        if case .row(let row)? = try storage.baseImage(of: object) { row } else { nil }
    }

    /// Applies the unacknowledged operations on an object to its server image again; nil if they delete the object.
    ///
    /// The image already includes the acknowledged operations.
    func replayed(_ image: Row?, of object: ObjectRef) throws -> Row? {
        try effects.applied(to: rejected.shown(image, of: object), of: object, after: acknowledgements.sequence)
    }

    /// The server's image of an object after it has accepted operations; nil if the object then does not exist.
    func image(_ image: Row?, after operations: [ObjectOperation]) -> Row? {
        var image = image
        for operation in operations.withJoinedUpdates(of: storage.schema) {
            let effect = OperationEffect(operation, of: storage.schema[operation.object.classIndex])
            image = effect.applied(to: image, of: operation.object, schema: storage.schema)
        }
        // Below the version of any image from the server.
        if image?.version == 0 { image?.version = 1 }
        return image
    }

    // MARK: Lost objects

    var hasLost: Bool { !lost.isEmpty }

    /// Whether an operation had no effect on the server, since its object was not there for the user.
    func isLost(_ object: ObjectRef, at sequence: UInt64) -> Bool { lost[object].map { $0 < sequence } ?? false }

    /// Forgets the server's image of an object that is not there for the user any more. What was written here and waits
    /// stays.
    func lose(_ object: ObjectRef, _ transaction: StoreTransaction) throws {
        lost[object] = lost[object] ?? acknowledgements.sequence
        // What is shown from now on is no member of anything, as far as the server knows; nor is what a pending
        // deletion hides.
        try remove(object, reason: .permission, transaction)
        try storage.setBaseImage(BaseImage.none, of: object)
        transaction.noteServerImage(object)
        try transaction.show(replayed(nil, of: object), of: object)
    }

    /// Notes that the server has sent an object.
    func regain(_ object: ObjectRef) { if hasLost { lost[object] = nil } }

    /// Forgets which objects were lost, at the end of the session.
    func forgetLost() { lost = [:] }

    // MARK: Changing

    /// Keeps the server's image of an object before the first operation on it.
    ///
    /// - Parameter shown: what the object shows; nil if it is not here.
    func keep(_ shown: Row?, of object: ObjectRef) throws {
        // An unconfirmed object has a kept image already.
        guard unconfirmed.remove(object) == nil, let shown else { return }
        try storage.setBaseImage(.row(shown), of: object)
    }

    /// Notes that an object shows acknowledged writes that no image includes.
    func noteUnconfirmed(_ object: ObjectRef) { unconfirmed.insert(object) }

    /// Notes that the image of an object that the server has sent includes everything that is acknowledged.
    func confirm(_ object: ObjectRef) throws {
        if unconfirmed.remove(object) != nil { try storage.setBaseImage(nil, of: object) }
    }

    /// Shows the server's last image with the pending operations applied, and keeps the image only if there are any.
    ///
    /// - Returns: the objects to which the object links from now on and did not before.
    func showServerImage(of object: ObjectRef, _ transaction: StoreTransaction) throws -> Set<ObjectRef> {
        let targets = try show(keptImage(of: object), of: object, transaction)
        unconfirmed.remove(object)
        if try !storage.hasPending(object) { try storage.setBaseImage(nil, of: object) }
        return targets
    }

    /// Shows an image with the pending operations applied.
    ///
    /// - Returns: the objects to which the object links from now on and did not before.
    func show(_ image: Row?, of object: ObjectRef, _ transaction: StoreTransaction) throws -> Set<ObjectRef> {
        let shown = try replayed(image, of: object)
        let former = try transaction.show(shown, of: object)
        return shown?.linkTargets(notOf: former, in: storage.schema, ofClass: object.classIndex) ?? []
    }

    /// Removes an object and its server image from this store.
    func evict(_ object: ObjectRef, reason: RemovalReason, _ transaction: StoreTransaction) throws {
        try remove(object, reason: reason, transaction)
        try confirm(object)
    }

    /// Removes an object, which leaves all memberships.
    private func remove(_ object: ObjectRef, reason: RemovalReason, _ transaction: StoreTransaction) throws {
        try willEvict?(object)
        guard try storage.isPresent(object) || !storage.subscriptions(having: object, role: nil).isEmpty else { return }
        try transaction.evict(object, reason: reason)
    }

    /// Notes that the server sends an object that it did not have before, as far as this store knows. Who has one with
    /// this key from before has another one, of which more may have been here.
    func noteNew(_ object: ObjectRef, _ transaction: StoreTransaction) throws {
        guard try !storage.subscriptions(having: object, role: nil).isEmpty else { return }
        try willEvict?(object)
        try transaction.endMemberships(of: object)
    }

    /// Shows the server's image of an object again whose rejected values are gone.
    ///
    /// - Returns: the objects to which the object links from now on and did not before.
    func reveal(_ object: ObjectRef, _ transaction: StoreTransaction) throws -> Set<ObjectRef> {
        transaction.touch(object)
        if try keptImage(of: object) == nil, try !storage.hasPending(object) {
            try evict(object, reason: .unknown, transaction)
            try storage.setBaseImage(nil, of: object)
            return []
        }
        return try showServerImage(of: object, transaction)
    }

    /// Removes everything that came from the server, because its history is another one. Objects with pending writes
    /// stay as they are shown.
    func forgetServer(_ transaction: StoreTransaction) throws {
        for classIndex in storage.schema.classes.indices where !storage.schema[classIndex].isLocal {
            var objects: [ObjectRef] = []
            try storage.forEachRow(ofClass: classIndex) { row in
                objects.append(ObjectRef(classIndex, row.key))
                return true
            }
            for object in objects {
                if try storage.hasPending(object) {
                    guard var row = try storage.row(object) else { continue }
                    row.version = 0
                    try transaction.show(row, of: object)
                    try storage.setBaseImage(BaseImage.none, of: object)
                } else {
                    try evict(object, reason: .unknown, transaction)
                }
            }
        }
        // What is deleted here has no row, and may have an image, which a rejection of the deletion would show.
        for object in try storage.pendingObjects where try !storage.isPresent(object) {
            try storage.setBaseImage(BaseImage.none, of: object)
        }
    }
}

extension [ObjectOperation] {
    /// Operations on one object, with the changes between a creation or deletion and the next joined to one, since each
    /// that is applied copies a long list.
    fileprivate func withJoinedUpdates(of schema: Schema) -> [ObjectOperation] {
        var joined: [ObjectOperation] = []
        var fields: [FieldOperation] = []
        for (position, operation) in enumerated() {
            guard case .update(let changed) = operation.action else {
                joined.append(operation)
                continue
            }
            let declared = schema[operation.object.classIndex]
            for field in changed {
                guard let change = declared.properties[field.property].fitting(field.change) else { continue }
                fields.fold(FieldOperation(field.property, change))
            }
            if position + 1 < count, case .update = self[position + 1].action { continue }
            joined.append(ObjectOperation(operation.object, .update(fields)))
            fields = []
        }
        return joined
    }
}

extension Row {
    /// The targets of those links that another state of the object does not have in the same property.
    fileprivate func linkTargets(notOf other: Row?, in schema: Schema, ofClass classIndex: Int) -> Set<ObjectRef> {
        var targets: Set<ObjectRef> = []
        for (position, property) in schema[classIndex].properties.enumerated() {
            guard let target = property.type.targetClass.flatMap(schema.index(of:)) else { continue }
            let (value, former) = (values[position], other?.values[position])
            guard value != former else { continue }
            var keys: Set<ObjectKey> = []
            value.forEachLink { keys.insert($0) }
            former?.forEachLink { keys.remove($0) }
            targets.formUnion(keys.map { ObjectRef(target, $0) })
        }
        return targets
    }
}
