package import SluiceModel
package import SluiceWire

extension Changeset {
    /// Whether a server reads the operations that agreed on some features.
    func isReadable(with features: Features) -> Bool {
        if let creations, features.contains(.defaults) || !creations.hasDefaults { return true }
        return operations.allSatisfy { $0.isReadable(with: features) }
    }
}

extension ObjectOperation {
    /// Whether a server reads the operation that agreed on some features.
    func isReadable(with features: Features) -> Bool { fields.allSatisfy { $0.isReadable(with: features) } }

    /// The operation for a server that takes some collections as a whole only: they are set to what they are here now. A
    /// collection that has gone from the store since is left out, for nobody here knows what the edit makes of it. A
    /// default is set like any other value.
    ///
    /// - Parameters:
    ///   - row: the object as it is here; nil if it was deleted since, so that its collections do not matter.
    ///   - features: what the server reads.
    package func settingCollections(of row: Row?, for features: Features) -> ObjectOperation {
        func whole(_ fields: [FieldOperation]) -> [FieldOperation] {
            fields.compactMap { field in
                if field.isReadable(with: features) { return field }
                if case .setDefault(let value) = field.change { return FieldOperation(field.property, .set(value)) }
                return row.flatMap { row in
                    row.absent.contains(field.property)
                        ? nil : FieldOperation(field.property, .set(row.values[field.property]))
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

extension FieldOperation {
    fileprivate func isReadable(with features: Features) -> Bool {
        switch change {
        case .set, .add: true
        case .setDefault: features.contains(.defaults)
        case .clear, .edit: features.contains(.elementEdits)
        case .editList: features.contains(.listEdits)
        }
    }
}
