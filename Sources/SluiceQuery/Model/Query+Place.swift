package import SluiceModel

extension Query {
    /// A place in the order of a query: that of an object, whether the object is there or not.
    package struct Place: Hashable, Sendable {
        /// One value for each key of the sort.
        package let values: [Value]
        /// The key of the object, which decides between objects with these values by its id.
        package let key: ObjectKey
        package let id: ObjectID

        package init(values: [Value], key: ObjectKey, className: String) {
            self.values = values
            self.key = key
            id = Identity(className: className, key: key).objectID
        }
    }

    /// The part of an order that results are taken from: what stands strictly behind one place and strictly before
    /// another.
    package struct Section: Hashable, Sendable {
        package var after: Place?
        package var before: Place?

        package var isWhole: Bool { after == nil && before == nil }

        /// Whether a place is in the section.
        ///
        /// - Parameters:
        ///   - values: the object's values in the order; see ``Evaluator/sortValues(of:in:)``.
        ///   - id: makes the object's id, where the values do not decide.
        func contains(_ values: SortValues, _ id: () -> ObjectID, in order: SortOrder) -> Bool {
            func compare(_ place: Place) -> Int {
                let other = SortValues(first: place.values.first ?? .null, rest: Array(place.values.dropFirst()))
                let side = order.compare(values, other)
                if side != 0 { return side }
                let own = id()
                return own < place.id ? -1 : own == place.id ? 0 : 1
            }
            if let after, compare(after) <= 0 { return false }
            if let before, compare(before) >= 0 { return false }
            return true
        }
    }

    /// The query of the condition alone, for the same reader: its results are all matches.
    package var condition: Query { Query(predicate, onClass: classIndex, className).read(in: context) }
}
