/// What was beyond one of the limits of a store, and by how much.
public struct LimitExcess: SluiceError, Hashable {
    /// What was too large, such as `bytes of an object`; PROTOCOL.md, section 11, lists them.
    public let limitName: String
    /// Where: a class, or a class and a property; empty for a whole transaction.
    public let place: String
    /// How much there was.
    public let actual: Int
    /// The most that is allowed.
    public let limit: Int

    package init(_ limitName: String, in place: String = "", _ actual: Int, limit: Int) {
        self.limitName = limitName
        self.place = place
        self.actual = actual
        self.limit = limit
    }

    /// Where there was how much of what, and how much is allowed.
    public var message: String {
        "\(place.isEmpty ? "" : "\(place): ")\(actual) \(limitName); at most \(limit) are allowed"
    }
}

extension DataLimits {
    /// What an object would be too large in.
    ///
    /// - Parameter old: the object as it is. One that is too large already may change as long as it does not grow.
    package func excess(of row: Row, replacing old: Row? = nil, in className: @autoclosure () -> String) -> LimitExcess?
    {
        // Most objects are far from the limit, and what they take at the most is known at once.
        if let most = row.quickSizeMax, most.byteCount <= objectByteCount, most.elementCount <= objectElementCount {
            return nil
        }
        let size = row.closed.dataSize
        guard size.byteCount > objectByteCount || size.elementCount > objectElementCount else { return nil }
        let before = old?.closed.dataSize ?? DataSize()
        if size.byteCount > max(objectByteCount, before.byteCount) {
            return LimitExcess(DataLimits.Name.objectBytes, in: className(), size.byteCount, limit: objectByteCount)
        }
        if size.elementCount > max(objectElementCount, before.elementCount) {
            return LimitExcess(
                DataLimits.Name.objectElements, in: className(), size.elementCount, limit: objectElementCount)
        }
        return nil
    }

    /// What a key is too long in, one of an object or of a link.
    package func excess(of key: ObjectKey, in place: @autoclosure () -> String) -> LimitExcess? {
        guard case .string(let text) = key, text.utf8.count > keyByteCount else { return nil }
        return LimitExcess(DataLimits.Name.keyBytes, in: place(), text.utf8.count, limit: keyByteCount)
    }

    /// What a link in a value is too long in.
    package func excess(ofLinksIn value: Value, in place: @autoclosure () -> String) -> LimitExcess? {
        var excess: LimitExcess?
        _ = value.anyLink { key in
            excess = self.excess(of: key, in: place())
            return excess != nil
        }
        return excess
    }
}

extension Row {
    fileprivate var closed: Row {
        guard hasIdentities else { return self }
        var row = self
        row.closeLists()
        return row
    }
}
