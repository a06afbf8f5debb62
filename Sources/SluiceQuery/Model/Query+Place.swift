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

    /// A condition on the first key of the order that everything in the section meets; nil if there is none, or the key
    /// is no property of the object itself.
    var sectionCondition: RootCondition? {
        guard let key = sort.first, key.path.steps.isEmpty, case .value(let property) = key.path.leaf else {
            return nil
        }
        return sectionRange.map { RootCondition(property: property, .range($0)) }
    }

    /// The values of the first key of the order that the section can have; nil for all.
    package var sectionRange: ValueRange? {
        guard let key = sort.first else { return nil }
        func bound(_ place: Place?) -> ValueRange.Bound? {
            // Null precedes every value, and only a range without a lower end has it.
            guard let value = place?.values.first, !value.isNull else { return nil }
            return ValueRange.Bound(value, isIncluded: true)
        }
        let (after, before) = (bound(section.after), bound(section.before))
        let range = key.isAscending ? ValueRange(from: after, to: before) : ValueRange(from: before, to: after)
        return range.lower == nil && range.upper == nil ? nil : range
    }
}
