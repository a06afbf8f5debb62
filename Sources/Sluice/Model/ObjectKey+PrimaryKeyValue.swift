internal import SluiceModel

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
