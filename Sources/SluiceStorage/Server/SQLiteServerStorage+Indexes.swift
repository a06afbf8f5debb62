internal import SluiceModel
package import SluiceViews

extension SQLiteServerStorage {
    /// All indexes of objects, except those of keys.
    package func indexes() throws -> [QueryExplanation.Index] { try tables.indexes() }

    /// The indexes that ``make(_:)`` made, in this or an earlier run of the server.
    package func automaticIndexes() throws -> [TableIndex] { try tables.automaticIndexes() }

    /// Makes an index in a transaction of its own. O(n log n) in the rows of the class.
    package func make(_ index: TableIndex) throws { try connection.atomically { try tables.make(index) } }

    /// Drops an index that ``make(_:)`` made, in a transaction of its own.
    package func drop(_ index: TableIndex) throws { try connection.atomically { try tables.drop(index) } }

    /// An upper bound of the number of rows in a class's table. O(1).
    package func rowCountMax(ofClass classIndex: Int) throws -> Int {
        try tables.table(classIndex).rowCountMax
    }
}
