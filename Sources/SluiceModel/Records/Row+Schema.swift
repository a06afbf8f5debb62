extension Row {
    /// Brings a row of an earlier schema up to a later one of its class: properties that were added since have their
    /// defaults, and where a property has another type by now, the value is as near as that type can hold it, or the
    /// default. O(properties).
    package mutating func adapt(to declared: ClassSchema) {
        let count = values.count
        if count < declared.properties.count { values += declared.defaultValues(for: key).dropFirst(count) }
        for (position, property) in declared.properties.enumerated().prefix(count)
        where !property.type.accepts(values[position]) {
            set(property.type.nearest(values[position]) ?? property.defaultValue, of: position)
        }
    }
}
