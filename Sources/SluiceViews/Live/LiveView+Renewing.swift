package import SluiceModel
import SluiceQuery

extension LiveView {
    /// Makes a view of the same query at a later state, and finds what may differ for a client of this one: for a view
    /// that cannot follow commits itself within the work that it may take.
    ///
    /// A window is compared by what it shows, and costs a reading of its rows. Any other view is read and then taken
    /// back through the commits, at the cost of ``activate(in:)`` and of what the commits concern.
    ///
    /// - Parameters:
    ///   - commit: all changes since the state that the client has.
    ///   - source: the later state.
    /// - Returns: the view at the later state, which can be used on any one thread; and the objects that have come, left
    ///   or changed.
    /// - Throws: what the source throws.
    package func renewed(
        since commit: CommitDelta, in source: any ViewSource
    ) throws -> (view: LiveView, objects: Set<ObjectRef>) {
        let view = LiveView(query, shape: shape, overscan: overscan < 0 ? nil : Int(overscan))
        try view.activate(in: source)
        var objects: Set<ObjectRef>
        if isActive, closure == nil, query.object == nil, let former = heldRoots, let now = view.heldRoots {
            objects = Set(former).symmetricDifference(now)
        } else {
            objects = Set(try view.differences(since: commit, in: source).map(\.object))
        }
        // What was changed and changed back may have been sent in between.
        for change in commit.changes where try view.member(change.object, in: source) != nil {
            objects.insert(change.object)
        }
        view.forgetJudge()
        return (view, objects)
    }
}
