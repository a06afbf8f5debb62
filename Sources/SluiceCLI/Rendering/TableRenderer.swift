internal import SluiceExchange
internal import SluiceModel

/// Formats rows as a table for people: aligned columns, numbers to the right, narrowed to the width of the terminal.
/// Columns that do not fit even so are left out, and a last line says so.
struct TableRenderer {
    struct Column: Hashable, Sendable {
        let title: String
        let isNumeric: Bool
    }

    private static let gap = "  "
    /// The minimum width to which a column is narrowed.
    private static let columnWidthMin = 6

    let columns: [Column]
    /// The maximum width of a line; nil for no limit.
    let width: Int?

    /// Makes the columns of a class.
    init(_ classSchema: ClassSchema, width: Int? = Terminal.width) {
        self.init(
            columns: classSchema.properties.map { property in
                let isNumeric: Bool =
                    switch property.type.element {
                    case .scalar(.int), .scalar(.float), .scalar(.double), .scalar(.decimal):
                        !property.type.isCollection
                    default: false
                    }
                return Column(title: property.name, isNumeric: isNumeric)
            }, width: width)
    }

    init(columns: [Column], width: Int?) {
        self.columns = columns
        self.width = width
    }

    /// The cells of an object. A property that a query excluded shows a dot.
    static func cells(_ record: Record) -> [String] {
        record.row.values.enumerated().map { index, value in
            record.row.absent.contains(index) ? "·" : PlainText.text(of: value)
        }
    }

    /// The titles, a rule, the rows, and a note if columns did not fit.
    func lines(_ rows: [[String]]) -> [String] {
        let rows = rows.map { $0.map(DisplayText.harmless) }
        let widths = fit(
            columns.indices.map { column in
                rows.reduce(DisplayText.width(columns[column].title)) { max($0, DisplayText.width($1[column])) }
            })
        let shown = widths.prefix(visibleCount(widths)).map { min($0, width ?? $0) }
        let rule = shown.map { String(repeating: "─", count: $0) }.joined(separator: Self.gap)
        let lines = [line(columns.map(\.title), shown), rule] + rows.map { line($0, shown) }
        let hidden = columns.count - shown.count
        guard hidden > 0 else { return lines }
        let what = GroupedNumber.text(hidden, "column is", "columns are")
        return lines + ["\(what) not shown; --format=jsonl or a wider terminal shows all"]
    }

    /// The number of columns that fit beside each other; at least one.
    private func visibleCount(_ widths: [Int]) -> Int {
        guard let width else { return widths.count }
        var end = -Self.gap.count
        let count = widths.prefix { column in
            end += Self.gap.count + column
            return end <= width
        }.count
        return max(count, min(1, widths.count))
    }

    /// Narrows the widest columns until the line fits, as far as possible.
    private func fit(_ natural: [Int]) -> [Int] {
        guard let width else { return natural }
        var widths = natural
        var excess = widths.reduce(0, +) + Self.gap.count * max(0, widths.count - 1) - width
        while excess > 0, let widest = widths.indices.max(by: { widths[$0] < widths[$1] }),
            widths[widest] > Self.columnWidthMin
        {
            widths[widest] -= 1
            excess -= 1
        }
        return widths
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        var line = ""
        for (index, cell) in cells.prefix(widths.count).enumerated() {
            let text = DisplayText.cut(cell, to: widths[index])
            let padding = String(repeating: " ", count: max(0, widths[index] - DisplayText.width(text)))
            if index > 0 { line += Self.gap }
            line += columns[index].isNumeric ? padding + text : text + padding
        }
        while line.last == " " { line.removeLast() }
        return line
    }
}
