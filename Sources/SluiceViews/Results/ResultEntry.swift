package import SluiceModel
package import SluiceQuery

/// One object of a list of results. Entries are immutable, and all lists that contain them share them.
///
/// An observer keeps an entry for each result, so an entry is small: 64 bytes, and its row is packed.
package final class ResultEntry: Sendable {
    private let key: ObjectKey
    /// Whether the row shows writes that the server has not confirmed.
    package let isPending: Bool
    private let classIndex: UInt32
    private let sortValues: [Value]
    private let packed: PackedRow

    package init(object: ObjectRef, position: SortPosition, row: Row, isPending: Bool = false) {
        precondition(row.key == object.key, "the row of another object")
        key = object.key
        self.isPending = isPending
        classIndex = UInt32(object.classIndex)
        sortValues = position.values
        packed = PackedRow(row, id: position.id)
    }

    deinit { packed.deallocate(key: key) }

    package var object: ObjectRef { ObjectRef(Int(classIndex), key) }

    /// The position of the object in the query's order.
    package var position: SortPosition { SortPosition(values: sortValues, id: id) }

    private var id: ObjectID { packed.id(key: key) }

    /// Whether the entry comes before another. The ids, which lie elsewhere in memory, are read only where they decide.
    package func precedes(_ other: ResultEntry, in order: SortOrder) -> Bool {
        let difference = order.compare(sortValues, other.sortValues)
        return difference != 0 ? difference < 0 : id < other.id
    }

    /// Whether the entry comes before a position.
    func precedes(_ position: SortPosition, in order: SortOrder) -> Bool {
        let difference = order.compare(sortValues, position.values)
        return difference != 0 ? difference < 0 : id < position.id
    }

    /// The object's row. O(its size).
    package var row: Row { packed.row(key: key) }

    /// The properties that the row lacks. O(1).
    package var absent: PropertySet { packed.absent(key: key) }

    /// Whether another entry of the object has an identical row.
    package func hasSameRow(as other: ResultEntry) -> Bool { packed.isIdentical(to: other.packed, key: key) }

    /// Whether another entry shows the same.
    package func isSame(as other: ResultEntry) -> Bool {
        self === other
            || object == other.object && isPending == other.isPending && position.id == other.position.id
                && position.values.count == other.position.values.count
                && zip(position.values, other.position.values).allSatisfy { $0.isIdentical(to: $1) }
                && hasSameRow(as: other)
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
