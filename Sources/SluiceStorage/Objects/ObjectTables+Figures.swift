internal import SluiceModel
internal import SluiceQuery

/// Reads what a query computes its figures of.
extension ObjectTables {
    /// See `ViewSource`.
    func figureRows(of query: Query, _ body: ([Value]) throws -> Void) throws {
        let codecs = query.positionPaths.map { ColumnCodec($0.type) }
        // Many objects link to few.
        var keys: [Int64: Value] = [:]
        try run(query, .positions, order: .any) { statement in
            var values = [Value](repeating: .null, count: codecs.count)
            while try statement.step() {
                for (column, codec) in codecs.enumerated() {
                    values[column] = try value(codec, Int32(column), of: statement, &keys)
                }
                try body(values)
            }
        }
    }

    private func value(
        _ codec: ColumnCodec, _ column: Int32, of statement: Statement, _ keys: inout [Int64: Value]
    ) throws -> Value {
        guard case .link(let target) = codec else {
            guard let value = codec.read(column, of: statement) else {
                throw StorageError(.damaged, "a value that a query computes with is not of its property's type")
            }
            return value
        }
        guard !statement.isNull(column) else { return .null }
        let row = statement.int(column)
        // The rows of two classes have the same numbers.
        let place = row << 12 | Int64(target)
        if let known = keys[place] { return known }
        let key = Value.link(try key(ofRow: row, in: target))
        if keys.count < 100_000 { keys[place] = key }
        return key
    }
}
