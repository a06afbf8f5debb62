internal import SluiceModel

extension LogChange {
    /// The change as the schema that came after it would have had it: without the values of properties that were
    /// removed. Nil if its class was removed.
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
