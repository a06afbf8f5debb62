package import SluiceModel

/// The order of results: by the sort's values, each in its direction, then by ascending object id.
package struct SortOrder: Hashable, Sendable {
    private let isAscending: [Bool]

    package init(_ sort: [SortKey]) { isAscending = sort.map(\.isAscending) }

    /// Negative, zero or positive; zero only for the same object.
    ///
    /// - Parameters:
    ///   - leftValues: one value for each key of the sort, see ``Evaluator/sortValues(of:in:)``.
    ///   - left: the object's id.
    package func compare(_ leftValues: [Value], _ left: ObjectID, _ rightValues: [Value], _ right: ObjectID) -> Int {
        for index in isAscending.indices {
            let order = Value.compare(leftValues[index], rightValues[index])
            if order != 0 { return isAscending[index] ? order : -order }
        }
        return left < right ? -1 : left == right ? 0 : 1
    }

    /// Whether the left object comes before the right one.
    package func precedes(_ leftValues: [Value], _ left: ObjectID, _ rightValues: [Value], _ right: ObjectID) -> Bool {
        compare(leftValues, left, rightValues, right) < 0
    }
}
