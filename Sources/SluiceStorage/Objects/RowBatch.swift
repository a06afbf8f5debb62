package import SluiceModel

/// Rows of one class that carry the same properties, to be stored together.
package struct RowBatch: Sendable {
    package let classIndex: Int
    /// The properties that every row carries, in the order of their columns.
    package let properties: [Int]
    /// The other properties whose values are not here; they have their defaults.
    package let absent: PropertySet
    package let keys: [ObjectKey]
    /// The keys as values.
    package let keyColumn: ValueColumn
    package let versions: [UInt64]
    /// The values of each property.
    package let columns: [ValueColumn]

    /// - Precondition: there is a version for each key, and in each column a value.
    package init(
        classIndex: Int, properties: [Int], absent: PropertySet, keys: [ObjectKey], keyColumn: ValueColumn,
        versions: [UInt64], columns: [ValueColumn]
    ) {
        precondition(versions.count == keys.count && columns.count == properties.count)
        precondition(keyColumn.count == keys.count && columns.allSatisfy { $0.count == keys.count })
        self.classIndex = classIndex
        self.properties = properties
        self.absent = absent
        self.keys = keys
        self.versions = versions
        self.keyColumn = keyColumn
        self.columns = columns
    }
}
