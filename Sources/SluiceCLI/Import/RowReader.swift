internal import SluiceModel

/// Reads a file of rows once, from the first to the last.
protocol RowReader: AnyObject {
    /// The columns known so far. A CSV file knows all of them from its header.
    var columns: [String] { get }
    /// A column name that looks like a value, which suggests that the header is missing; nil if there is none.
    var valueInHeader: String? { get }
    var source: ByteSource { get }
    /// The line that the current row begins on, from 1.
    var line: Int { get }

    /// Moves to the next row.
    ///
    /// - Returns: false at the end of the file.
    /// - Throws: ``RowError`` for a bad row, after which reading can continue; ``CommandError`` when it cannot.
    func next() throws -> Bool

    /// Adds the values of the current row to the inferences about their columns.
    func observe(into columns: inout [ColumnInference])

    /// The current row as an object of the plan's class.
    ///
    /// - Parameter ids: generates ids if the file holds no keys.
    func row(_ plan: ImportPlan, ids: ObjectIDGenerator) throws(RowError) -> Row
}

/// The formats of files that can be imported.
enum ImportFormat: Sendable, Hashable {
    case csv
    case jsonLines

    /// - Throws: ``CommandError`` when the name does not end with the extension of a format.
    init(path: String) throws(CommandError) {
        let name = path.hasSuffix(".gz") ? path.dropLast(3) : path[...]
        if name.hasSuffix(".csv") {
            self = .csv
        } else if name.hasSuffix(".jsonl") {
            self = .jsonLines
        } else {
            throw .usage("\(path): the name must end in .csv or .jsonl, or either with .gz, to tell what it holds")
        }
    }

    /// Opens a file for one pass.
    func reader(path: String) throws(CommandError) -> any RowReader {
        switch self {
        case .csv: try CSVRowReader(path: path)
        case .jsonLines: try JSONRowReader(path: path)
        }
    }
}
