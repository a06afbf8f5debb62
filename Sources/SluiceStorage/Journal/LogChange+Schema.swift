internal import SluiceModel

extension LogChange {
    /// Whether the schema has the change's class and properties. A damaged entry may decode to any others.
    func isPossible(in schema: Schema) -> Bool {
        guard schema.classes.indices.contains(object.classIndex) else { return false }
        let declared = schema[object.classIndex]
        return declared.accepts(object.key) && note.isPossible(in: declared)
            && oldValues.count <= declared.properties.count
    }

    /// The change under the current schema: in the types of now, and without the old values of properties that were
    /// removed since. Nil if its class was removed.
    func fitting(_ schema: Schema) -> LogChange? {
        let declared = schema[object.classIndex]
        guard !declared.isRetired else { return nil }
        var change = self
        let positions = kind == .delete ? Array(oldValues.indices) : Array(written)
        for (index, position) in zip(oldValues.indices, positions) {
            let property = declared.properties[position]
            guard property.isRetired || !property.type.accepts(oldValues[index]) else { continue }
            change.oldValues[index] =
                property.isRetired ? .null : property.type.nearest(oldValues[index]) ?? property.defaultValue
        }
        for case (let property, .undo(let edits)) in oldLists {
            if case .editList(let edits)? = declared.properties[property].nearest(.editList(edits)) {
                change.oldLists[property] = .undo(edits)
            }
        }
        change.note = note.fitting(declared)
        return change
    }
}
