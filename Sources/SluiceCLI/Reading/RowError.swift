/// Why one row of a file cannot be used.
struct RowError: Error, Hashable {
    /// The line the row begins on, counting from 1.
    var line: Int
    /// The column at fault, where there is one.
    var column: String?
    var message: String

    /// `FILE:LINE: column 'x': …`.
    func description(file: String) -> String {
        "\(file):\(line): " + (column.map { "column '\($0)': " } ?? "") + message
    }
}
