import Sluice
import SluiceModel
import SluiceStorage

/// Measures the least that storing a set of rows costs: raw inserts of the rows of a store, into the same tables and
/// indexes, in one transaction.
struct InsertFloor {
    private let schema: Schema
    private let tables: [CapturedTable]

    /// Reads the rows of a closed store.
    init(store path: String, schema: Schema) throws {
        let database = try RawDatabase(path: path)
        self.schema = schema
        // Link targets first, as a bootstrap sends them.
        tables = try schema.classes.map { try database.capture("\"o_\($0.name)\"", excluding: "_incarnation") }
            .sorted { $0.rowCount < $1.rowCount }
    }

    var rowCount: Int { tables.reduce(0) { $0 + $1.rowCount } }

    private func makeStore(_ path: String) throws {
        let storage = try SQLiteClientStorage.open(.file(path))
        try storage.transaction {
            _ = try storage.merge(schema, sides: (own: "file", other: "benchmark"))
        }
    }

    /// Inserts the rows into a fresh file, and returns how many were inserted in a second.
    func rate(_ workbench: Workbench) async throws -> Double {
        let path = workbench.freshPath("floor")
        try makeStore(path)
        let database = try RawDatabase(path: path)
        let seconds = try await workbench.seconds {
            try database.execute("BEGIN IMMEDIATE")
            for table in tables { try database.insert(table) }
            try database.execute("COMMIT")
        }
        for table in tables {
            try check(
                try database.integer("SELECT count(*) FROM \(table.name)"), is: table.rowCount, "the floor's count")
        }
        return Double(rowCount) / seconds
    }
}
