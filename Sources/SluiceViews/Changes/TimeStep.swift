package import SluiceModel

/// How the time of a state moves with a commit group, or between two versions.
package struct TimeStep: Hashable, Sendable {
    package let before: Timestamp
    package let after: Timestamp

    package init(from before: Timestamp, to after: Timestamp) {
        self.before = before
        self.after = after
    }

    /// The step back.
    var reversed: TimeStep { TimeStep(from: after, to: before) }
}
