internal import SluiceModel
internal import SluiceWire

extension ObjectTables {
    /// Fills a column of a cell table with the values of a batch. Where a column came in the form in which it is stored,
    /// no `Value` is made, and links to the same object are looked up once.
    ///
    /// - Parameters:
    ///   - column: the column of the cell table, counted from 1.
    ///   - positions: the rows of the batch that the cell table has, in this order.
    func fill(
        _ cells: CellTable, _ column: Int32, _ single: ClassTable.Column, with source: BatchColumns.Source,
        of columns: BatchColumns, at positions: ArraySlice<Int>, _ table: ClassTable
    ) throws {
        let values: ValueColumn?
        switch source {
        case .key: values = columns.batch.keyColumn
        case .column(let column):
            if case .key = column.content { values = columns.batch.keyColumn } else { values = column }
        case .constant: values = nil
        }
        if let values, try fill(cells, column, single.codec, with: values, at: positions) { return }
        for (row, position) in positions.enumerated() {
            cells.select(row)
            try bind(columns.value(source, at: position), single.field, to: column, of: cells, table)
        }
    }

    /// - Returns: false, without an effect, where the values are not in the form in which they are stored.
    private func fill(
        _ cells: CellTable, _ column: Int32, _ codec: ColumnCodec, with values: ValueColumn,
        at positions: ArraySlice<Int>
    ) throws -> Bool {
        switch (codec, values.content) {
        case (_, .null): break
        case (.scalar(.int), .integers(.int, let numbers)), (.scalar(.date), .integers(.date, let numbers)),
            (.scalar(.bool), .integers(.bool, let numbers)):
            cells.fill(column, positions, values.isNull) { numbers[$0] }
        case (.scalar(.double), .doubles(let numbers)), (.scalar(.float), .floats(let numbers)):
            guard !numbers.contains(where: \.isNaN) else { return false }
            cells.fill(column, positions, values.isNull) { numbers[$0] }
        case (.scalar(.string), .texts(.string, let texts)):
            cells.fill(column, positions, values.isNull, texts)
        case (.link(let target), .texts(.link, let texts)):
            var rows = [Int64](repeating: 0, count: texts.distinctCount)
            for position in positions where values.isNull.isEmpty || !values.isNull[position] {
                let index = texts.index(ofRow: position)
                if rows[index] == 0 { rows[index] = try targetRow(.string(texts.text(index)), in: target) }
            }
            cells.fill(column, positions, values.isNull) { rows[texts.index(ofRow: $0)] }
        case (.link(let target), .integers(.link, let numbers)):
            var rows = [Int64](repeating: 0, count: numbers.count)
            var known: [Int64: Int64] = [:]
            for position in positions where values.isNull.isEmpty || !values.isNull[position] {
                let key = numbers[position]
                let row = try known[key] ?? targetRow(.int(key), in: target)
                known[key] = row
                rows[position] = row
            }
            cells.fill(column, positions, values.isNull) { rows[$0] }
        default: return false
        }
        return true
    }
}
