package import SluiceModel

/// The order of results: by the sort's values, each in its direction, then by ascending object id.
package struct SortOrder: Hashable, Sendable {
    private let isAscending: [Bool]

    package init(_ sort: [SortTerm]) { isAscending = sort.map(\.isAscending) }

    /// Negative, zero or positive; zero only for the same object.
    ///
    /// - Parameters:
    ///   - leftValues: one value for each key of the sort, see ``Evaluator/sortValues(of:in:)``.
    ///   - left: the object's id.
    package func compare(_ leftValues: [Value], _ left: ObjectID, _ rightValues: [Value], _ right: ObjectID) -> Int {
        let order = compare(leftValues, rightValues)
        return order != 0 ? order : left < right ? -1 : left == right ? 0 : 1
    }

    /// Compares rows by the values of the sort alone: zero if only their ids place them.
    package func compare(_ left: [Value], _ right: [Value]) -> Int {
        for index in isAscending.indices {
            let order = compare(left[index], right[index], by: index)
            if order != 0 { return order }
        }
        return 0
    }

    /// Compares rows by the values of the sort alone: zero if only their ids place them.
    package func compare(_ left: SortValues, _ right: SortValues) -> Int {
        if isAscending.isEmpty { return 0 }
        let order = compare(left.first, right.first, by: 0)
        if order != 0 || isAscending.count == 1 { return order }
        for index in isAscending.indices.dropFirst() {
            let order = compare(left.rest[index - 1], right.rest[index - 1], by: index)
            if order != 0 { return order }
        }
        return 0
    }

    /// The values as an array: one for each key of the sort.
    package func all(_ values: SortValues) -> [Value] { isAscending.isEmpty ? [] : [values.first] + values.rest }

    private func compare(_ left: Value, _ right: Value, by key: Int) -> Int {
        let order = Value.compare(left, right)
        return isAscending[key] ? order : -order
    }

    /// Whether the left object comes before the right one.
    package func precedes(_ leftValues: [Value], _ left: ObjectID, _ rightValues: [Value], _ right: ObjectID) -> Bool {
        compare(leftValues, left, rightValues, right) < 0
    }
}

/// The values that place a row in a ``SortOrder``, in little memory: most sorts have one key.
package struct SortValues: Sendable {
    /// The value of the first key; null if the sort has no key.
    package let first: Value
    /// The values of the other keys; nil if there are none, since even an empty array is counted as it is copied.
    private let others: [Value]?

    package init(first: Value, rest: [Value] = []) {
        self.first = first
        others = rest.isEmpty ? nil : rest
    }

    /// The values of the other keys.
    package var rest: [Value] { others ?? [] }
}
