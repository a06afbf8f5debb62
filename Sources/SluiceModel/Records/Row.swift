/// One version of an object as stores, views and messages hold it: values by property position.
package struct Row: Hashable, Sendable {
    package var key: ObjectKey
    /// The version of the server's last change of the object; 0 if no server has stored it.
    package var version: UInt64
    /// One value for each property of the class, in schema order. Properties in `absent` have their defaults here.
    package var values: [Value]
    /// The properties whose values are not here because every query that brought the object excludes them.
    package var absent: PropertySet

    package init(key: ObjectKey, version: UInt64 = 0, values: [Value], absent: PropertySet = []) {
        self.key = key
        self.version = version
        self.values = values
        self.absent = absent
    }
}

extension Row {
    /// Whether both rows are the same version of an object with identical values, including the sign of zeros.
    package func isIdentical(to other: Row) -> Bool {
        key == other.key && version == other.version && absent == other.absent
            && values.count == other.values.count
            && zip(values, other.values).allSatisfy { $0.isIdentical(to: $1) }
    }
}
