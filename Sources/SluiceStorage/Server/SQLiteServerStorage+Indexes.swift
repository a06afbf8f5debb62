internal import SluiceModel
package import SluiceViews

extension SQLiteServerStorage {
    package func indexes() throws -> [QueryExplanation.Index] { try tables.indexes() }

    package func automaticIndexes() throws -> [TableIndex] { try tables.automaticIndexes() }

    package func make(_ index: TableIndex) throws { try connection.atomically { try tables.make(index) } }

    package func drop(_ index: TableIndex) throws { try connection.atomically { try tables.drop(index) } }

    package func rowCountMax(ofClass classIndex: Int) throws -> Int {
        try tables.table(classIndex).rowCountMax
    }
}
