internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// What becomes of objects that leave subscriptions, were deleted, or may not be read any more.
extension FrameApplier {
    /// Notes that an object has left, which is looked at when its step has been applied: something else may hold it by
    /// then.
    func depart(_ object: ObjectRef, because reason: RemovalReason) {
        departed.append((object, reason))
        if reason == .deleted || reason == .permission { gone.insert(object) }
    }

    /// Removes those objects of a group that are gone: what comes after that under their keys are others.
    func removeGone(_ group: ObjectGroup, ofClass classIndex: Int) throws {
        guard !gone.isEmpty else { return }
        for key in group.keys {
            let object = ObjectRef(classIndex, key)
            guard gone.remove(object) != nil else { continue }
            for departure in departed where departure.object == object {
                try remove(object, because: departure.reason)
            }
            departed.removeAll { $0.object == object }
        }
    }

    func remove(_ object: ObjectRef, because reason: RemovalReason) throws {
        if reason == .deleted || reason == .permission, try !storage.hasPending(object) {
            // A deletion applies at once, even if other subscriptions that hold the object learn of it later. So does
            // the loss of the right to read it.
            if !keeps(object, reason) { try objectImages.evict(object, reason: reason, transaction) }
        } else {
            try dropIfUnheld(object, reason: reason)
        }
    }

    /// Removes an object that no subscription holds any more, unless it has pending writes or this store keeps it.
    func dropIfUnheld(_ object: ObjectRef, reason: RemovalReason) throws {
        guard try !storage.hasPending(object), try !storage.isHeld(object, excluding: nil), !keeps(object, reason)
        else { return }
        try objectImages.evict(object, reason: reason, transaction)
    }

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
                depart(object, because: hasContext ? .permission : .deleted)
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
