internal import SluiceModel
internal import SluiceWire

extension ObjectTables {
    /// The server's last image of an object that shows something else; nil if none is kept.
    func baseImage(of object: ObjectRef) throws -> BaseImage? {
        try connection.withStatement("SELECT image FROM _base WHERE class = ? AND key = ?") { statement in
            statement.bind(1, object)
            guard try statement.step() else { return nil }
            let bytes = statement.blob(0)
            if bytes.isEmpty { return BaseImage.none }
            var row = try StoredBlob.decode(Row.self, from: bytes, file: connection.name, what: "a base image")
            // An image may be older than the schema of today.
            row.adapt(to: try table(object.classIndex).schema)
            return .row(row)
        }
    }
}
