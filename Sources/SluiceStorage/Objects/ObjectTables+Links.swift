internal import SluiceModel
internal import SluiceQuery

extension ObjectTables {
    /// See `ViewSource`. It reads nothing but links, as local row ids, and looks up the key of each target once.
    func links(
        fromMatchesOf query: Query, through properties: PropertySet,
        _ body: (_ property: Int, _ target: ObjectKey, _ count: Int) throws -> Void
    ) throws {
        let table = try table(query.classIndex)
        let singles = table.singles.filter { properties.contains($0.property) }
        let collections = table.collections.filter { properties.contains($0.property) }
        let columns = [TableLayout.row, TableLayout.absent] + singles.map(\.name)
        var counts = [[Int64: Int]](repeating: [:], count: singles.count)
        let output = SQLCompiler.Output.columns(columns.map { "\(SQLCompiler.rootAlias).\($0)" })
        try run(query, output, order: .row(after: 0)) { statement in
            while try statement.step() {
                let absent = statement.propertySet(1)
                for (position, single) in singles.enumerated() {
                    let column = Int32(position + 2)
                    guard !statement.isNull(column), !absent.contains(single.property) else { continue }
                    counts[position][statement.int(column), default: 0] += 1
                }
                for collection in collections where !absent.contains(collection.property) {
                    let value = try readCollection(collection, ofRow: statement.int(0), table)
                    try value.forEachLink { try body(collection.property, $0, 1) }
                }
            }
        }
        for (single, counts) in zip(singles, counts) {
            guard case .link(let target) = single.codec else { continue }
            for (row, count) in counts { try body(single.property, key(ofRow: row, in: target), count) }
        }
    }
}
