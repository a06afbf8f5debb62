package import SluiceJSON

extension JSONValue {
    /// The value as compact JSON.
    package var text: String {
        var writer = JSONWriter()
        writer.write(self)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
