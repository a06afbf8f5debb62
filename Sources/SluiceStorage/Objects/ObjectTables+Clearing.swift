internal import SluiceModel

extension ObjectTables {
    /// Removes every object and ghost of every class. The cost does not depend on their number.
    func removeAll() throws {
        for classIndex in schema.classes.indices {
            let table = try table(classIndex)
            for collection in table.collections { try connection.execute("DELETE FROM \(collection.name)") }
            try connection.execute("DELETE FROM \(table.name)")
            if table.hasIDIndex { try connection.execute("DELETE FROM \(table.idIndex)") }
            try table.recover()
        }
    }
}
