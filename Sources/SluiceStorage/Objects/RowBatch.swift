package import SluiceModel

/// Rows of one class that carry the same properties, to be stored together.
package struct RowBatch: Sendable {
    package let classIndex: Int
    /// The properties that every row carries, in the order of its cells.
    package let properties: [Int]
    /// The other properties whose values are not here; they have their defaults.
    package let absent: PropertySet
    package let keys: [ObjectKey]
    package let versions: [UInt64]
    /// The values row after row.
    package let cells: [Value]

    /// - Precondition: there is a version for each key, and a cell for each key and property.
    package init(
        classIndex: Int, properties: [Int], absent: PropertySet, keys: [ObjectKey], versions: [UInt64], cells: [Value]
    ) {
        precondition(versions.count == keys.count && cells.count == keys.count * properties.count)
        self.classIndex = classIndex
        self.properties = properties
        self.absent = absent
        self.keys = keys
        self.versions = versions
        self.cells = cells
    }
}
