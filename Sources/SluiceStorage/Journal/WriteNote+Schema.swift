internal import SluiceModel

extension WriteNote {
    /// Whether a class has the properties of the note. A damaged entry may decode to any others.
    func isPossible(in declared: ClassSchema) -> Bool {
        let properties = declared.properties.indices
        return written.allSatisfy(properties.contains) && partial.allSatisfy { properties.contains($0.property) }
            && lineage.map { $0.isPossible(in: declared) } ?? true
    }

    /// The note in the types of now.
    func fitting(_ declared: ClassSchema) -> WriteNote {
        var note = self
        for (index, field) in partial.enumerated() {
            note.partial[index].change = declared.properties[field.property].nearest(field.change) ?? field.change
        }
        note.lineage = lineage.map { $0.fitting(declared) }
        return note
    }
}

extension WriteLineage {
    fileprivate func isPossible(in declared: ClassSchema) -> Bool {
        let properties = declared.properties.indices
        return origin?.fields.allSatisfy { properties.contains($0.property) } ?? true
            && former.map { $0.values.count <= properties.count && declared.accepts($0.key) } ?? true
            && rest?.writes.allSatisfy { $0.note.isPossible(in: declared) } ?? true
    }

    fileprivate func fitting(_ declared: ClassSchema) -> WriteLineage {
        var origin = origin
        if let known = origin {
            let fields = known.fields.compactMap { field -> FieldOperation? in
                let property = declared.properties[field.property]
                guard !property.isRetired else { return nil }
                return property.nearest(field.change).map { FieldOperation(field.property, $0) }
            }
            origin = Origin(base: known.base, fields: fields)
        }
        var former = former
        if var row = former {
            let defaults = declared.defaultValues(for: row.key)
            for (position, value) in row.values.enumerated() {
                let property = declared.properties[position]
                guard property.isRetired || !property.type.accepts(value) else { continue }
                row.values[position] = property.type.nearest(value) ?? property.defaultValue
            }
            // Properties that were added later have their defaults.
            row.values += defaults.dropFirst(row.values.count)
            former = row
        }
        let writes = rest?.writes.map { StampedWrite($0.note.fitting(declared), $0.stamp) }
        return WriteLineage(
            origin: origin, former: former,
            rest: rest.map { Rest(keepsFormer: $0.keepsFormer, writes: writes ?? []) })
    }
}
