internal import SluiceModel
internal import SluiceStorage

/// Which subscriptions have an object, and what that says of its image here.
struct Holdings {
    private let storage: any ClientStorage
    private let active: ActiveSubscriptions

    init(_ storage: any ClientStorage, _ active: ActiveSubscriptions) {
        self.storage = storage
        self.active = active
    }

    /// Whether a complete subscription has the object, so that its image here is the server's image at the store's
    /// version.
    func isCompletelySynced(_ object: ObjectRef) throws -> Bool {
        guard active.completeCount > 0 else { return false }
        return try storage.subscriptions(having: object, role: nil).contains { id in
            active[id: id]?.isComplete ?? false
        }
    }

    /// Whether any subscription, complete or not, observed or dormant, has the object or is receiving it.
    func isMemberOfAny(_ object: ObjectRef) throws -> Bool {
        try storage.isHeld(object, excluding: nil) || !storage.subscriptions(having: object, role: nil).isEmpty
    }

    /// Whether a complete subscription follows a link to the object without having it, which means that the server does
    /// not have it.
    func isMissedByMembers(_ object: ObjectRef) throws -> Bool {
        guard active.completeCount > 0, try !storage.isHeld(object, excluding: nil) else { return false }
        for (classIndex, property) in storage.schema.backlinks(to: object.classIndex) {
            var isMissed = false
            try storage.backlinks(to: object, fromClass: classIndex, property: property) { key in
                isMissed = try isMissed || follows(from: ObjectRef(classIndex, key), property)
                return !isMissed
            }
            if isMissed { return true }
        }
        return false
    }

    /// Whether a complete subscription has an object and follows its links through a property.
    private func follows(from owner: ObjectRef, _ property: Int) throws -> Bool {
        // A link that was written here and is not acknowledged does not count.
        guard try !storage.hasPending(owner) else { return false }
        for id in try storage.subscriptions(having: owner, role: nil) {
            guard let subscription = active[id: id], subscription.isComplete else { continue }
            for role in MemberRole.allCases
            where subscription.plan.alwaysFollows(property, ofClass: owner.classIndex, isRoot: role == .root) {
                if try storage.isMember(owner, of: id, role: role) { return true }
            }
        }
        return false
    }
}
