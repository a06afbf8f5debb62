/// Why one row of a file cannot be used.
struct RowError: Error, Hashable {
    /// The line on which the row begins, from 1.
    var line: Int
    /// The column at fault; nil if it is not known.
    var column: String?
    var message: String

    /// The error with its place: `FILE:LINE: column 'x': …`.
    func description(file: String) -> String {
        "\(file):\(line): " + (column.map { "column '\($0)': " } ?? "") + message
    }
}
