package import SluiceModel

/// What happens to the members of one view: in a page of a bootstrap, or by a commit.
package struct ViewBlock: Hashable, Sendable {
    /// Who made the versions concerned, ascending by version; empty in a page.
    package var authors: [CommitAuthor]
    /// Members that enter or change.
    package var objects: ObjectBlock
    /// Members that leave.
    package private(set) var departures: [Departure]
    /// What the departures take at the most, in bytes.
    private var departuresSize = 0

    package init(authors: [CommitAuthor] = [], objects: ObjectBlock = ObjectBlock(), departures: [Departure] = []) {
        self.authors = authors
        self.objects = objects
        self.departures = departures
        departuresSize = departures.reduce(0) { $0 + $1.byteCount }
    }

    package mutating func append(_ departure: Departure) {
        departures.append(departure)
        departuresSize += departure.byteCount
    }

    /// What the content takes before compression, in bytes, and seldom more; to split what would be too large for a
    /// frame. O(groups).
    package var estimatedSize: Int { objects.estimatedSize + departuresSize + authors.count * 64 }

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

        fileprivate var byteCount: Int { 12 + object.key.byteCount }
    }
}
