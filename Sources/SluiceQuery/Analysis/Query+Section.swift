internal import SluiceModel

/// What the section of a query says of the objects in it.
extension Query {
    /// A condition on the first key of the order that everything in the section meets; nil if there is none, or the key
    /// is no property of the object itself.
    var sectionCondition: RootCondition? {
        guard let property = sort.first?.path.plainProperty else { return nil }
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
