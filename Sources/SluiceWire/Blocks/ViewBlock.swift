package import SluiceModel

/// What happens to the members of one view: in a page of a bootstrap, or by a commit.
package struct ViewBlock: Hashable, Sendable {
    /// Who made the versions concerned, ascending by version; empty in a page.
    package var authors: [CommitAuthor]
    /// Members that enter or change.
    package var objects: ObjectBlock
    /// Members that leave.
    package var departures: [Departure]

    package init(authors: [CommitAuthor] = [], objects: ObjectBlock = ObjectBlock(), departures: [Departure] = []) {
        self.authors = authors
        self.objects = objects
        self.departures = departures
    }

    /// Whether nothing enters, changes or leaves.
    package var isEmpty: Bool { objects.isEmpty && departures.isEmpty }

    package struct Departure: Hashable, Sendable {
        package var object: ObjectRef
        /// What it no longer is; ``RowRole/member`` for all it was.
        package var role: RowRole
        package var reason: RemovalReason

        package init(_ object: ObjectRef, role: RowRole, reason: RemovalReason) {
            self.object = object
            self.role = role
            self.reason = reason
        }
    }
}
