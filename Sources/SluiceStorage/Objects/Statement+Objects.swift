internal import SluiceModel
internal import SluiceWire

/// Object references in the store's own tables: the class, and the key in its binary form.
extension ParameterSink {
    /// Binds a reference to two parameters, from `index` on.
    func bind(_ index: Int32, _ object: ObjectRef) {
        bind(index, Int64(object.classIndex))
        bind(index + 1, object.key.wireBytes())
    }
}

extension Statement {
    /// Reads a reference from two columns, from `column` on.
    func object(_ column: Int32, file: String) throws(StorageError) -> ObjectRef {
        let key = try StoredBlob.decode(ObjectKey.self, from: blob(column + 1), file: file, what: "an object's key")
        return ObjectRef(Int(int(column)), key)
    }
}
