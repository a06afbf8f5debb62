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
    ///
    /// - Parameters:
    ///   - schema: the schema that has the object's class.
    ///   - file: the store, as messages name it.
    func object(_ column: Int32, in schema: Schema, file: String) throws(StorageError) -> ObjectRef {
        let classes = 0...Int64(max(0, schema.classes.count - 1))
        let classIndex = try number(column, in: classes, file: file, what: "an object's class")
        let key = try StoredBlob.decode(ObjectKey.self, from: blob(column + 1), file: file, what: "an object's key")
        return ObjectRef(Int(classIndex), key)
    }
}
