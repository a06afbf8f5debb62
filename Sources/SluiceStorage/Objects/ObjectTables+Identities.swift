internal import SluiceModel
internal import SluiceQuery

extension ObjectTables {
    /// Gives the tables of lists a column for the identity of elements, in a file from before there was one. A file that
    /// cannot be written stays as it is.
    ///
    /// - Parameter areUnknown: whether the lists that are there may have been edited elsewhere, so that their identity is
    ///   not known here.
    static func makeRoomForIdentities(
        in schema: Schema, on connection: SQLiteConnection, areUnknown: Bool
    ) throws {
        guard !connection.access.isReadOnly else { return }
        let layout = TableLayout()
        for declared in schema.classes {
            for property in declared.properties where !property.isRetired && property.type.container == .list {
                let name = layout.table(declared.name, collection: property.name)
                guard try !ClassTable.hasIdentities(name, on: connection) else { continue }
                // SQLite keeps the default in the declaration: what is there is not written, and new rows name the
                // column.
                let unknown = areUnknown ? " DEFAULT x'00'" : ""
                do throws(StorageError) {
                    try connection.execute("ALTER TABLE \(name) ADD COLUMN \(TableLayout.identity) BLOB\(unknown)")
                } catch {
                    if error.code == .full || error.isOfDamage { return }
                    throw error
                }
            }
        }
    }
}
