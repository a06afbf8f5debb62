/// Tells merging what was done to one object after a version. Valid until the next entry of the log.
package struct ObjectHistory {
    /// What the log has, and what the group has that is being merged; nil if that is nothing.
    private var logged: ObjectTrail?
    private var recent: ObjectTrail?
    private var version: UInt64 = 0
    /// The last deletion that the log has, if the group has ended it with a creation.
    private var formerDeletion: WriteStamp?

    /// The history of an object to which nothing was done.
    package init() {}

    /// - Parameter version: the version after which the history begins.
    package init(_ trail: ObjectTrail, since version: UInt64) {
        logged = trail
        self.version = version
    }

    /// The same history, and after it what transactions did that are not in the log yet.
    package func followed(by trail: ObjectTrail) -> ObjectHistory {
        var history = trail.isWhole ? ObjectHistory() : self
        if trail.isWhole { history.formerDeletion = logged?.lastDeletion(since: version) }
        history.recent = trail
        return history
    }

    /// The latest creation by stamp since the last deletion: the one that made the object, or one that met it. O(log n).
    package var latestCreation: WriteStamp? {
        let logged = logged?.latestCreation(since: version)
        let recent = recent?.latestCreation(since: 0)
        guard let logged, let recent else { return logged ?? recent }
        return max(logged, recent)
    }

    /// Whether others have deleted and created the object, of which the client has only seen what was before. O(1).
    package func isReborn(for client: UInt64) -> Bool {
        if let recent {
            if recent.isWritten(by: client) { return false }
            if formerDeletion != nil || recent.lastDeletion(since: 0) != nil { return true }
        }
        return logged.map { $0.lastDeletion(since: version) != nil && !$0.isWritten(by: client) } ?? false
    }

    /// The last deletion, whether or not the object was created again. O(1).
    package var lastDeletion: WriteStamp? {
        recent?.lastDeletion(since: 0) ?? formerDeletion ?? logged?.lastDeletion(since: version)
    }

    /// The deletion, if the object was deleted and not created again.
    package var deleted: WriteStamp? {
        if let recent, recent.isWhole { return recent.deleted }
        return logged?.deleted.flatMap { $0.version > version ? $0 : nil }
    }

    /// The latest assignment of a property by stamp. O(log n) in the assignments.
    package func latestAssignment(of property: Int) -> WriteStamp? {
        let logged = logged?.latestAssignment(of: property, since: version)
        let recent = recent?.latestAssignment(of: property, since: 0)
        guard let logged, let recent else { return logged ?? recent }
        return max(logged, recent)
    }

    /// Whether another client than one assigned the property. O(log n) in the assignments.
    package func isAssigned(_ property: Int, byOtherThan client: UInt64) -> Bool {
        if recent?.isAssigned(property, byOtherThan: client, since: 0) ?? false { return true }
        // A recent assignment overrides those of the log that are not later.
        let overriding = recent?.latestAssignment(of: property, since: 0)
        return logged?.isAssigned(property, byOtherThan: client, since: version, laterThan: overriding) ?? false
    }

    /// The latest default of a property by stamp. O(log n) in the defaults.
    package func latestDefault(of property: Int) -> WriteStamp? {
        let logged = logged?.latestDefault(of: property, since: version)
        let recent = recent?.latestDefault(of: property, since: 0)
        guard let logged, let recent else { return logged ?? recent }
        return max(logged, recent)
    }

    /// Whether a property was written, apart from defaults. O(log n) in the assignments.
    package func isWritten(_ property: Int) -> Bool {
        recent?.isWritten(property, since: 0) ?? false || logged?.isWritten(property, since: version) ?? false
    }

    /// The latest edit of an element of a collection by stamp. O(log n) in the edits of the element.
    package func latestEdit(of property: Int, element: Value) -> WriteStamp? {
        // What was edited before an assignment is gone.
        let isReset = recent?.latestAssignment(of: property, since: 0) != nil
        let logged = isReset ? nil : logged?.latestEdit(of: property, element: element, since: version)
        let recent = recent?.latestEdit(of: property, element: element, since: 0)
        guard let logged, let recent else { return logged ?? recent }
        return max(logged, recent)
    }

    /// The latest move of an element of a list, or the latest time that it was set, by stamp. O(log n).
    package func latestEdit(of property: Int, element: ObjectID, _ part: ListEdits.Part) -> WriteStamp? {
        let isReset = recent?.latestAssignment(of: property, since: 0) != nil
        let logged = isReset ? nil : logged?.latestEdit(of: property, element: element, part, since: version)
        let recent = recent?.latestEdit(of: property, element: element, part, since: 0)
        guard let logged, let recent else { return logged ?? recent }
        return max(logged, recent)
    }

    /// The amounts of the additions to a property that are later than a stamp, to be added one after the other.
    /// Neighbouring additions may come as their sum.
    package func additions(to property: Int, laterThan stamp: WriteStamp) -> [Value] {
        (logged?.additions(to: property, since: version, laterThan: stamp) ?? [])
            + (recent?.additions(to: property, since: 0, laterThan: stamp) ?? [])
    }
}
