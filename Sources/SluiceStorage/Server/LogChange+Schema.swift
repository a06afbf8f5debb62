internal import SluiceModel

extension LogChange {
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
