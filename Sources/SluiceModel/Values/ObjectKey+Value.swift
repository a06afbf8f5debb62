extension ObjectKey {
    /// The key as a property value.
    package var value: Value {
        switch self {
        case .id(let id): .objectID(id)
        case .int(let key): .int(key)
        case .string(let key): .string(key)
        case .uuid(let key): .uuid(key)
        }
    }

    /// The key for a value of a primary-key property; nil for null and for types that cannot be keys.
    package init?(primaryKey value: Value) {
        switch value {
        case .int(let key): self = .int(key)
        case .string(let key): self = .string(key)
        case .uuid(let key): self = .uuid(key)
        default: return nil
        }
    }
}
