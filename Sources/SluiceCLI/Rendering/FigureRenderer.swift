internal import Sluice
internal import SluiceExchange
internal import SluiceModel

/// Prints what a query with AGGREGATE computes: one line or row for each group, with its keys and then the results.
struct FigureRenderer {
    private let table: AggregateTable

    init(_ table: AggregateTable) { self.table = table }

    /// Lines of JSON, one for each group, whose members have the names of the columns: `{"carrier":"UA","@count":12}`.
    func lines() -> [[UInt8]] {
        table.rows.map { JSONWriter.line(of: table.columns, $0) }
    }

    /// The line of a change, as `--watch --format=jsonl` prints it, with its line feed.
    func line(of change: AggregateChange<AggregateTable>) -> [UInt8] {
        var writer = JSONWriter()
        writer.raw("{\"type\":")
        writer.string(change.isInitial ? "initial" : "update")
        writer.raw(",\"state\":")
        writer.string(change.state.rawValue)
        writer.raw(",\"figures\":")
        writer.array(table.rows) { $0.object(of: table.columns, $1) }
        writer.raw(",\"exact\":")
        writer.raw(change.isExact ? "true" : "false")
        writer.raw("}")
        writer.endLine()
        return writer.bytes
    }

    /// Comma-separated lines: the names of the columns, then one line for each group.
    func commaSeparated() -> [UInt8] {
        var writer = CSVWriter(columns: table.columns)
        for row in table.rows { writer.write(row) }
        return writer.bytes
    }

    /// A table for people.
    func print(to output: StandardOutput) {
        let columns = table.columns.enumerated().map { index, name in
            TableRenderer.Column(
                title: name,
                isNumeric: name.hasPrefix("@") || table.rows.contains { Self.isNumber($0[index]) })
        }
        let renderer = TableRenderer(columns: columns, width: Terminal.width)
        for line in renderer.lines(table.rows.map { $0.map { PlainText.text(of: $0) } }) {
            output.append(Array((line + "\n").utf8))
        }
    }

    private static func isNumber(_ value: Value) -> Bool {
        switch value {
        case .int, .float, .double, .decimal: true
        default: false
        }
    }
}
