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
        package var reason: DepartureReason

        package init(_ object: ObjectRef, role: RowRole, reason: DepartureReason) {
            self.object = object
            self.role = role
            self.reason = reason
        }
    }
}

/// Why an object left a view.
package enum DepartureReason: UInt8, Sendable, CaseIterable {
    /// For a reason that is not known or that this version does not know.
    case unknown = 0
    case deleted = 1
    /// It no longer matches, or nothing links to it any more.
    case filter = 2
    /// Others precede it within the limit.
    case window = 3
    /// The user may no longer read it.
    case permission = 4
    /// Its time to live, or the subscription's, is over.
    case expired = 5
}
