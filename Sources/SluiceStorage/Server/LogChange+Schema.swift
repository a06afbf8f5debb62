internal import SluiceModel

extension LogChange {
    /// Whether the schema has the change's class and properties. A damaged entry may decode to any others.
    func isPossible(in schema: Schema) -> Bool {
        guard schema.classes.indices.contains(object.classIndex) else { return false }
        let declared = schema[object.classIndex]
        let properties = declared.properties.indices
        return declared.accepts(object.key) && written.allSatisfy(properties.contains)
            && additions.allSatisfy { properties.contains($0.property) }
            && oldValues.count <= properties.count
    }

    /// The change under the current schema, without the old values of properties that were removed since; nil if its
    /// class was removed.
    func fitting(_ schema: Schema) -> LogChange? {
        let declared = schema[object.classIndex]
        guard !declared.isRetired else { return nil }
        guard !declared.retiredProperties.isEmpty else { return self }
        var change = self
        let positions = kind == .delete ? Array(oldValues.indices) : Array(written)
        for (index, position) in zip(oldValues.indices, positions) where declared.retiredProperties.contains(position) {
            change.oldValues[index] = .null
        }
        return change
    }
}
