package import SluiceQuery

extension LiveView {
    /// What a view becomes when its reader's context changes with a commit group. The view itself does not change.
    ///
    /// - Parameters:
    ///   - turn: the group and the change of context. The view must be at the state before it, in the former context.
    ///   - query: the view's query in the new context.
    ///   - shape: the shape of that query.
    /// - Returns: the view in the new context, and what changed for the clients of this view; nil if nothing did.
    package func turned(
        by turn: ContextTurn, to query: Query, shape: ViewShape
    ) throws -> (view: LiveView, delta: ViewDelta?) {
        let copy = LiveView(copying: self)
        let delta = try copy.follow(turn.commit, in: turn.source, before: turn.before).map(turn.explained)
        return (LiveView(turning: copy, to: query, shape: shape), delta)
    }
}
