public import SluiceModel

/// One property of a model.
@usableFromInline
final class ModelColumn<Root: Model>: Sendable {
    let property: Property
    let keyPath: any PartialKeyPath<Root> & Sendable
    /// Whether the declaration gives a default, even one that is the type's zero.
    let isDefaulted: Bool
    /// Whether the property's Swift type has every value that its type in the schema allows.
    let decodesEveryValue: Bool
    @usableFromInline let encode: @Sendable (Root, Int, inout RowEncoder) throws -> Void
    @usableFromInline let decode: @Sendable (borrowing RowDecoder, Int, inout Root) throws -> Void

    @usableFromInline
    init(
        _ property: Property, keyPath: any PartialKeyPath<Root> & Sendable, isDefaulted: Bool, decodesEveryValue: Bool,
        encode: @escaping @Sendable (Root, Int, inout RowEncoder) throws -> Void,
        decode: @escaping @Sendable (borrowing RowDecoder, Int, inout Root) throws -> Void
    ) {
        self.property = property
        self.keyPath = keyPath
        self.isDefaulted = isDefaulted
        self.decodesEveryValue = decodesEveryValue
        self.encode = encode
        self.decode = decode
    }

    /// The column of a key path. Where the property is plain storage, it is reached by its offset: going through the
    /// key path takes several times as long.
    @inlinable
    static func stored<Value: PropertyValue>(
        _ property: Property, _ keyPath: any KeyPath<Root, Value> & Sendable, isDefaulted: Bool
    ) -> ModelColumn {
        // Only a stored property has an offset: at it there is a `Value`, for as long as there is the root.
        let offset = MemoryLayout<Root>.offset(of: keyPath)
        // The same key path, which is Sendable; a cast cannot say so.
        nonisolated(unsafe) let writable = keyPath as? WritableKeyPath<Root, Value>
        let name = property.name
        return ModelColumn(
            property, keyPath: keyPath, isDefaulted: isDefaulted, decodesEveryValue: Value.decodesEveryValue,
            encode: { root, column, row in
                guard let offset else { return try row.set(column, root[keyPath: keyPath]) }
                let value = withUnsafePointer(to: root) { root in
                    UnsafeRawPointer(root).advanced(by: offset).assumingMemoryBound(to: Value.self).pointee
                }
                try row.set(column, value)
            },
            decode: { row, column, root in
                let value: Value = try row.value(column)
                guard let writable else { throw constantProperty(name) }
                guard let offset else {
                    root[keyPath: writable] = value
                    return
                }
                withUnsafeMutablePointer(to: &root) { root in
                    UnsafeMutableRawPointer(root).advanced(by: offset).assumingMemoryBound(to: Value.self).pointee =
                        value
                }
            })
    }

    @usableFromInline
    static func constantProperty(_ name: String) -> ModelError {
        ModelError(
            .typeMismatch, "\(Root.className).\(name) is constant; the properties of a KeyPathModel are 'var'")
    }
}
