package import SluiceModel

extension ObjectKey {
    /// The key that a primary key's Swift value makes.
    ///
    /// - Throws: ``ModelError`` when the value cannot be stored: an integer beyond 64 bits with sign, say.
    package init(primaryKey value: some PrimaryKeyValue) throws {
        if case .invalid(let error) = value.presence { throw error }
        guard let key = ObjectKey(primaryKey: value.propertyValue) else {
            throw RecordError(.missingPrimaryKey, "a primary key is an int, a string or a UUID")
        }
        self = key
    }
}

extension Model {
    /// The key of the object that a primary key's Swift value names.
    ///
    /// - Throws: as ``ObjectKey/init(primaryKey:)``; `RecordError` when the class's keys are of another type.
    package static func objectKey(_ value: some PrimaryKeyValue) throws -> ObjectKey {
        let key = try ObjectKey(primaryKey: value)
        if case .success(let declared) = modelDefinition.declared.schema, !declared.accepts(key) {
            throw RecordError.foreignKey(key, of: declared)
        }
        return key
    }
}
