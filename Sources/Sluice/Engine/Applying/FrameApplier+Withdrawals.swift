internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// What becomes of objects that the user may not read any more.
extension FrameApplier {
    /// Whether an object that leaves for a reason, or may do so, stays in this store although nothing holds it.
    func keeps(_ object: ObjectRef, _ reason: RemovalReason) -> Bool {
        guard reason == .permission || reason == .unknown && hasContext else { return false }
        guard applier.options.purgesRevokedObjects else { return true }
        guard let filter = applier.options.keepsRevokedObject else { return false }
        // The closure is the user's own, and may answer otherwise the next time.
        if let known = revoked[object] { return known }
        let isKept = filter(Identity(className: storage.schema[object.classIndex].name, key: object.key))
        revoked[object] = isKept
        return isKept
    }

    /// Removes objects that this store keeps without a subscription, or has created although others had deleted them
    /// later. Unsent writes stay, and the server judges them.
    func apply(_ withdrawn: KeptObjects) throws {
        for object in withdrawn.content.groups.flatMap({ group in group.keys.map { ObjectRef(group.classIndex, $0) } })
        {
            guard let object = map.fromServer(object) else {
                throw SyncError(.protocolViolation, "an unknown class")
            }
            if try !storage.hasPending(object) {
                departed.append((object, hasContext ? .permission : .deleted))
            } else if hasContext {
                try objectImages.lose(object, transaction)
            } else {
                try noteAbsence(of: object, because: .deleted)
            }
        }
    }

    /// Notes that the server does not have an object any more, as far as the user may know, which shows something else
    /// here.
    func noteAbsence(of object: ObjectRef, because reason: RemovalReason) throws {
        guard reason == .deleted || reason == .permission, !keeps(object, reason) else { return }
        if reason == .permission, try storage.hasPending(object) {
            try objectImages.lose(object, transaction)
        } else if try objectImages.differs(object) {
            try storage.setBaseImage(BaseImage.none, of: object)
            transaction.noteServerImage(object)
            guard storage.keptObjects.contains(object) else { return }
            try transaction.show(objectImages.replayed(nil, of: object), of: object)
        }
    }
}
