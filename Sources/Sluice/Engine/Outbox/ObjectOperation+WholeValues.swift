package import SluiceModel

extension ObjectOperation {
    /// Whether the operation changes a collection without setting it as a whole.
    var editsCollections: Bool {
        fields.contains { field in
            switch field.change {
            case .clear, .edit: true
            case .set, .add: false
            }
        }
    }

    /// The operation for a server that takes collections as a whole only: they are set to what they are here now. A
    /// collection that has gone from the store since is left out, for nobody here knows what the edit makes of it.
    ///
    /// - Parameter row: the object as it is here; nil if it was deleted since, so that its collections do not matter.
    package func settingCollections(of row: Row?) -> ObjectOperation {
        func whole(_ fields: [FieldOperation]) -> [FieldOperation] {
            fields.compactMap { field in
                switch field.change {
                case .set, .add: field
                case .clear, .edit:
                    row.flatMap { row in
                        row.absent.contains(field.property)
                            ? nil : FieldOperation(field.property, .set(row.values[field.property]))
                    }
                }
            }
        }
        switch action {
        case .create(let fields): return ObjectOperation(object, .create(whole(fields)))
        case .update(let fields): return ObjectOperation(object, .update(whole(fields)))
        case .delete: return self
        }
    }
}
