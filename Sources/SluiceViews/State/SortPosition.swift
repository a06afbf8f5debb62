package import SluiceModel
import SluiceQuery

/// The position of an object in the order of a query: its sort values, then its object id.
package struct SortPosition: Hashable, Sendable {
    /// One value for each sort key of the query.
    package let values: [Value]
    package let id: ObjectID

    @inlinable
    package init(values: [Value], id: ObjectID) {
        self.values = values
        self.id = id
    }
}

extension SortOrder {
    /// Whether the left position comes before the right one.
    package func precedes(_ left: SortPosition, _ right: SortPosition) -> Bool {
        precedes(left.values, left.id, right.values, right.id)
    }
}
