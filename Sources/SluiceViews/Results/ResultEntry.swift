package import SluiceModel

/// One object of a list of results. Entries are immutable, and all lists that contain them share them.
package final class ResultEntry: Sendable {
    package let object: ObjectRef
    /// The position of the object in the query's order.
    package let position: SortPosition
    package let row: Row
    /// Whether the row shows writes that the server has not confirmed.
    package let isPending: Bool

    package init(object: ObjectRef, position: SortPosition, row: Row, isPending: Bool = false) {
        self.object = object
        self.position = position
        self.row = row
        self.isPending = isPending
    }

    /// Whether another entry shows the same.
    package func isSame(as other: ResultEntry) -> Bool {
        self === other
            || object == other.object && isPending == other.isPending && position.id == other.position.id
                && position.values.count == other.position.values.count
                && zip(position.values, other.position.values).allSatisfy { $0.isIdentical(to: $1) }
                && row.isIdentical(to: other.row)
    }
}

/// One edit of a list of results.
package enum ResultEdit: Sendable {
    /// The object matches, with this row and at this position.
    case upsert(ResultEntry)
    /// The object no longer matches.
    case remove(ObjectRef, RemovalReason)
    /// The object itself did not change, but an object that it leads to did.
    case touch(ObjectRef)

    package var object: ObjectRef {
        switch self {
        case .upsert(let entry): entry.object
        case .remove(let object, _), .touch(let object): object
        }
    }
}
