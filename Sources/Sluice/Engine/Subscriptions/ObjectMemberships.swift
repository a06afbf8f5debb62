internal import SluiceModel
internal import SluiceStorage

/// Which subscriptions have an object, and what that says of its image here.
struct ObjectMemberships {
    private let storage: SQLiteClientStorage
    private let active: ActiveSubscriptions

    init(_ storage: SQLiteClientStorage, _ active: ActiveSubscriptions) {
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
        return try hasBacklink(to: object) { owner, property in
            try storage.subscriptions(having: owner, role: nil).contains { id in
                guard let subscription = active[id: id], subscription.isComplete else { return false }
                return try follows(subscription, from: owner, property)
            }
        }
    }

    /// The subscriptions that are not complete and follow a link to the object. Once they are, they have it, or the server
    /// does not.
    func incompleteFollowers(of object: ObjectRef) throws -> [Subscription] {
        guard active.hasIncomplete else { return [] }
        var followers: [UInt64: Subscription] = [:]
        _ = try hasBacklink(to: object) { owner, property in
            for id in try storage.subscriptions(having: owner, role: nil) {
                guard let subscription = active[id: id], !subscription.isComplete,
                    try follows(subscription, from: owner, property)
                else { continue }
                followers[id] = subscription
            }
            return false
        }
        return Array(followers.values)
    }

    /// Whether a subscription that has just become complete follows a link to an object that is here without having it,
    /// and no complete subscription has it.
    func isMissed(_ object: ObjectRef, by subscription: Subscription) throws -> Bool {
        guard try storage.isPresent(object) && !isCompletelySynced(object) else { return false }
        return try hasBacklink(to: object) { try follows(subscription, from: $0, $1) }
    }

    /// Whether a link to an object that shows here meets a condition. A link that was written here and is not
    /// acknowledged does not count.
    private func hasBacklink(
        to object: ObjectRef, where condition: (_ owner: ObjectRef, _ property: Int) throws -> Bool
    ) throws -> Bool {
        for (classIndex, property) in storage.schema.backlinks(to: object.classIndex) {
            var isFound = false
            try storage.backlinks(to: object, fromClass: classIndex, property: property) { key in
                let owner = ObjectRef(classIndex, key)
                isFound = try isOfServer(property, of: owner, to: object) && condition(owner, property)
                return !isFound
            }
            if isFound { return true }
        }
        return false
    }

    /// Whether a link that shows here is one that the server has sent.
    private func isOfServer(_ property: Int, of owner: ObjectRef, to object: ObjectRef) throws -> Bool {
        guard try storage.hasPending(owner) else { return true }
        guard case .row(let image)? = try storage.baseImage(of: owner) else { return false }
        var isFound = false
        image.values[property].forEachLink { isFound = isFound || $0 == object.key }
        return isFound
    }

    /// Whether a subscription has an object and follows its links through a property.
    private func follows(_ subscription: Subscription, from owner: ObjectRef, _ property: Int) throws -> Bool {
        try MemberRole.allCases.contains { role in
            guard subscription.plan.alwaysFollows(property, ofClass: owner.classIndex, isRoot: role == .root) else {
                return false
            }
            return try storage.isMember(owner, of: subscription.record.id, role: role)
        }
    }
}
