/// The class and key of an object, which name it on every client and server.
public struct Identity: Hashable, Sendable {
    /// The name of the object's class.
    public let className: String
    /// The object's primary key, or its object id in a keyless class.
    public let key: ObjectKey

    /// - Parameters:
    ///   - className: the name of the object's class.
    ///   - key: the object's primary key, or its object id in a keyless class.
    public init(className: String, key: ObjectKey) {
        self.className = className
        self.key = key
    }

    /// The object id of the object.
    ///
    /// For a class with a primary key, it is the first 128 bits of SHA-256 over the class name in UTF-8, a zero byte,
    /// the kind of the key (`i`, `s` or `u`) and the key: a big-endian 64-bit integer, UTF-8 text, or the 16 bytes of a
    /// UUID.
    public var objectID: ObjectID {
        if case .id(let id) = key { return id }
        var bytes = Array(className.utf8)
        bytes.append(0)
        switch key {
        case .id: break
        case .int(let key):
            bytes.append(UInt8(ascii: "i"))
            withUnsafeBytes(of: key.bigEndian) { bytes.append(contentsOf: $0) }
        case .string(let key):
            bytes.append(UInt8(ascii: "s"))
            bytes.append(contentsOf: key.utf8)
        case .uuid(let key):
            bytes.append(UInt8(ascii: "u"))
            bytes.append(contentsOf: key.bytes)
        }
        return SHA256.truncatedID(of: bytes)
    }
}

extension Identity: CustomStringConvertible {
    /// The class and the key: `Car(V1)`.
    public var description: String { "\(className)(\(key))" }
}
