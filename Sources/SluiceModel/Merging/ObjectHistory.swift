/// Tells merging what was done to one object after a version. Valid until the next entry of the log.
package struct ObjectHistory {
    /// What the log has, and what the group has that is being merged; nil if that is nothing.
    private var logged: ObjectTrail?
    private var recent: ObjectTrail?
    private var version: UInt64 = 0
    /// Whether all that counts is in `logged`, so that it tells what the object goes back to.
    private var isWhole = false

    /// The history of an object to which nothing was done.
    package init() {}

    /// The whole history of an object.
    ///
    /// - Parameter version: the version after which the history begins: the one that an author knew.
    package init(_ trail: ObjectTrail, since version: UInt64) {
        logged = trail
        self.version = version
        isWhole = true
    }

    /// The same history, and after it what transactions did that are not in the log yet. It does not tell what the object
    /// goes back to.
    package func followed(by trail: ObjectTrail) -> ObjectHistory {
        var history = trail.isWhole ? ObjectHistory() : self
        history.recent = trail
        history.isWhole = false
        return history
    }

    /// The same history where nobody asks what the object goes back to.
    package var ofProperties: ObjectHistory {
        var history = self
        history.isWhole = false
        return history
    }

    /// What the log has.
    package var trail: ObjectTrail? { logged }

    private var lineages: Lineages? { isWhole ? logged?.lineages : nil }

    /// Whether several creations have made the object what it is.
    var isContested: Bool { isWhole && logged?.isContested ?? false }

    /// Whether creations that the author does not know have made the object what it is, and nothing else. O(1).
    func isNew(to author: UInt64) -> Bool { lineages.map { !$0.isKnown(to: author, since: version) } ?? false }

    /// Whether it must be remembered what the object is before a creation of an author meets it: where the author does not
    /// know of all creations that it goes back to, and nothing is kept yet. O(creations).
    func isToBeKept(from author: UInt64) -> Bool {
        guard let lineages, logged?.contest?.former == nil else { return false }
        return lineages.hasUnknown(to: author, since: version)
    }

    /// Whether a write of an author who does not create the object belongs to something that the object goes back to.
    func belongs(to author: UInt64) -> Bool { lineages?.isKnown(to: author, since: version) ?? true }

    /// What a deletion does to the object. O(1) if it undoes nothing, else O(creations).
    func verdict(on deletion: WriteStamp) -> Lineages.Verdict {
        lineages?.verdict(on: deletion, since: version) ?? .all
    }

    /// What a deletion leaves that undoes a part of what the object goes back to.
    func left(by deletion: WriteStamp, of object: ObjectRef, _ template: Merger.Template) -> ObjectTrail.Left? {
        logged?.left(by: deletion, since: version, of: object, template)
    }

    /// The history after a deletion that leaves a part.
    func replaced(by trail: ObjectTrail) -> ObjectHistory { ObjectHistory(trail, since: version) }

    /// The latest deletion by stamp, whether or not the object was created again. O(log n).
    package var latestDeletion: WriteStamp? { lineages?.latestDeletion(since: version) }

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
    ///
    /// - Parameter stamp: nil for all additions.
    package func additions(to property: Int, laterThan stamp: WriteStamp?) -> [Value] {
        (logged?.additions(to: property, since: version, laterThan: stamp) ?? [])
            + (recent?.additions(to: property, since: 0, laterThan: stamp) ?? [])
    }
}
