internal import FoundationEssentials

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
        switch key {
        case .id(let id): id
        case .int(let key): withUnsafeBytes(of: key.bigEndian) { hash(kind: "i", key: $0) }
        case .string(var key): key.withUTF8 { hash(kind: "s", key: UnsafeRawBufferPointer($0)) }
        case .uuid(let key): withUnsafeBytes(of: key.uuid) { hash(kind: "u", key: $0) }
        }
    }

    /// Rows without SORT are in the order of ids, so all that is hashed lies on the stack.
    private func hash(kind: Unicode.Scalar, key: UnsafeRawBufferPointer) -> ObjectID {
        let name = className.utf8
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: name.count + 2 + key.count) { bytes in
            let end = bytes.initialize(from: name).index
            bytes[end] = 0
            bytes[end + 1] = UInt8(ascii: kind)
            UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(bytes)[(end + 2)...])
                .copyMemory(from: key)
            return SHA256.truncatedID(of: UnsafeRawBufferPointer(bytes))
        }
    }
}

extension Identity: CustomStringConvertible {
    /// The class and the key: `Car(V1)`.
    public var description: String { "\(className)(\(key))" }
}
