public import FoundationEssentials

/// Names an object within its class: its primary key or, in a class without one, its object id.
///
/// Keys compare and hash by bytes: two strings that only look alike are two keys.
public enum ObjectKey: Sendable {
    /// The object id of an object of a keyless class.
    case id(ObjectID)
    /// The integer primary key of an object.
    case int(Int64)
    /// The text primary key of an object.
    case string(String)
    /// The UUID primary key of an object.
    case uuid(UUID)
}

extension ObjectKey: Hashable {
    public static func == (left: ObjectKey, right: ObjectKey) -> Bool {
        switch (left, right) {
        case (.id(let left), .id(let right)): left == right
        case (.int(let left), .int(let right)): left == right
        case (.string(let left), .string(let right)): UTF8Order.equal(left, right)
        case (.uuid(let left), .uuid(let right)): left == right
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .id(let id): hasher.combine(id)
        case .int(let key): hasher.combine(key)
        case .string(let key): UTF8Order.hash(key, into: &hasher)
        case .uuid(let key): hasher.combine(key)
        }
    }
}

extension ObjectKey: Comparable {
    /// Orders keys of one kind by their values, and keys of different kinds by kind.
    public static func < (left: ObjectKey, right: ObjectKey) -> Bool {
        switch (left, right) {
        case (.id(let left), .id(let right)): left < right
        case (.int(let left), .int(let right)): left < right
        case (.string(let left), .string(let right)): UTF8Order.less(left, right)
        case (.uuid(let left), .uuid(let right)): UUID.compare(left, right) < 0
        default: left.rank < right.rank
        }
    }

    private var rank: Int {
        switch self {
        case .id: 0
        case .int: 1
        case .string: 2
        case .uuid: 3
        }
    }
}

extension ObjectKey: CustomStringConvertible {
    /// The key as a person would write it: digits, the text itself, or the textual form of an id.
    public var description: String {
        switch self {
        case .id(let id): id.description
        case .int(let key): String(key)
        case .string(let key): key
        case .uuid(let key): key.uuidString.lowercased()
        }
    }
}

extension UUID {
    /// The 16 bytes in textual order.
    package var bytes: [UInt8] { withUnsafeBytes(of: uuid) { Array($0) } }

    /// Compares the bytes in textual order; the result is negative, zero or positive.
    static func compare(_ left: UUID, _ right: UUID) -> Int {
        // A UUID is a tuple of 16 bytes.
        withUnsafeBytes(of: left.uuid) { left in
            withUnsafeBytes(of: right.uuid) { right in
                UTF8Order.compareBytes(
                    left.assumingMemoryBound(to: UInt8.self), right.assumingMemoryBound(to: UInt8.self))
            }
        }
    }

    /// Makes a UUID from exactly 16 bytes; nil for any other number.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        var raw: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &raw) { $0.copyBytes(from: bytes) }
        self.init(uuid: raw)
    }
}
