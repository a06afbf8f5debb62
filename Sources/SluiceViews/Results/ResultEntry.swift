package import SluiceModel

/// One object of a result. Immutable; shared by all results that hold it.
package final class ResultEntry: Sendable {
    package let object: ObjectRef
    /// Where the object stands in the query's order.
    package let position: SortPosition
    package let row: Row

    package init(object: ObjectRef, position: SortPosition, row: Row) {
        self.object = object
        self.position = position
        self.row = row
    }
}

/// What happened to one object that a result is about.
package enum ResultEdit: Sendable {
    /// The object matches, with this row and at this place.
    case upsert(ResultEntry)
    /// The object matches no more.
    case remove(ObjectRef, RemovalReason)
    /// Nothing happened to the object itself, but to one that it leads to.
    case touch(ObjectRef)

    package var object: ObjectRef {
        switch self {
        case .upsert(let entry): entry.object
        case .remove(let object, _), .touch(let object): object
        }
    }
}
