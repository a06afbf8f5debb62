internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// How rows of the server become objects of this store.
extension FrameApplier {
    /// Stores the rows of a group together, as far as their objects are present without pending writes or unknown.
    ///
    /// - Returns: the rows that must be looked at one by one, ascending.
    func storeTogether(
        _ group: ObjectGroup, _ images: ServerImages, of classIndex: Int, to subscriptions: [Subscription]
    ) throws -> [Int] {
        let all = Array(0..<group.count)
        guard group.count >= applier.options.bulkRowCountMin, let batch = images.batch(of: group) else { return all }
        var others = all
        // What is said of lists beside their values is stored one by one.
        var alone = Set(group.notes.map(\.row)).sorted()
        if !alone.isEmpty {
            let isAlone = Set(alone)
            others = all.filter { !isAlone.contains($0) }
        }
        var pending: [Int] = []
        if storage.outboxCount > 0 || !objectImages.unconfirmed.isEmpty || !storage.keptObjects.isEmpty {
            pending = try others.filter { row in
                let object = ObjectRef(classIndex, group.keys[row])
                return try objectImages.differs(object)
            }
            let isPending = Set(pending)
            if !pending.isEmpty { others = others.filter { !isPending.contains($0) } }
        }
        let role: MemberRole? =
            switch group.role {
            case .root: .root
            case .linked: .linked
            case .member: nil
            }
        let leftOut = try transaction.store(batch, at: others, as: role, of: subscriptions.map(\.record.id))
        alone += pending
        return alone.isEmpty ? leftOut : (alone + leftOut).sorted()
    }

    /// - Parameter isWhole: whether the server sent everything that the query includes of the object, which is probably
    ///   not here; else it sent what has changed.
    /// - Returns: false, without an effect, if the server sent changes of an object or of a list that is not here.
    func apply(
        _ images: ServerImages, _ object: ObjectRef, version: UInt64, values: ArraySlice<Value>, notes: [ListNote],
        isWhole: Bool
    ) throws -> Bool {
        if try objectImages.differs(object) {
            let base = try objectImages.keptImage(of: object)
            guard base != nil || isWhole else { return false }
            objectImages.regain(object)
            transaction.noteServerImage(object)
            if let base, base.version > version { return true }
            guard
                let image = images.overlay(base, key: object.key, version: version, values: values, notes: notes)
            else { return false }
            if base == nil { try objectImages.noteNew(object, transaction) }
            try storage.setBaseImage(.row(image), of: object)
            let shown = try objectImages.replayed(image, of: object)
            // Shown first as it is on the server, because a member must have a row here, even if only a deleted one.
            if shown == nil { try transaction.show(image, of: object) }
            try transaction.show(shown, of: object)
            try objectImages.confirm(object)
            return true
        }
        func overlay(_ row: Row?) -> Row? {
            images.overlay(row, key: object.key, version: version, values: values, notes: notes)
        }
        if isWhole, let row = overlay(nil), try transaction.insert(row, of: object) {
            try objectImages.noteNew(object, transaction)
            return true
        }
        guard let current = try storage.row(object) else {
            guard isWhole, let row = overlay(nil) else { return false }
            try transaction.insert(row, of: object)
            return true
        }
        guard current.version <= version else { return true }
        guard let row = overlay(current) else { return false }
        // It came with another query already.
        if row.isIdentical(to: current) { return true }
        try transaction.update(
            row, of: object, changed: images.carried, replacing: current, edits: images.listEdits(notes))
        return true
    }
}
