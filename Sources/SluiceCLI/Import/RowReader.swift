internal import SluiceModel

/// One pass over a file of rows.
protocol RowReader: AnyObject {
    /// The columns known so far; a CSV file knows them all from its header.
    var columns: [String] { get }
    /// A column's name that looks like a value, so that perhaps the names are missing; nil for none.
    var valueInHeader: String? { get }
    var source: ByteSource { get }
    /// The line that the current row begins on, from 1.
    var line: Int { get }

    /// Moves to the next row.
    ///
    /// - Throws: ``RowError`` for a bad row, after which reading can go on; ``CommandError`` when it cannot.
    func next() throws -> Bool

    /// Adds what the current row holds to what is known about each column.
    func observe(into columns: inout [ColumnInference])

    /// The current row as an object of the plan's class.
    ///
    /// - Parameter ids: draws ids where the file holds no keys.
    func row(_ plan: ImportPlan, ids: ObjectIDGenerator) throws(RowError) -> Row
}

/// The files that can be imported.
enum ImportFormat: Sendable, Hashable {
    case csv
    case jsonLines

    /// - Throws: ``CommandError`` when the name does not say what the file holds.
    init(path: String) throws(CommandError) {
        let name = path.hasSuffix(".gz") ? path.dropLast(3) : path[...]
        if name.hasSuffix(".csv") {
            self = .csv
        } else if name.hasSuffix(".jsonl") {
            self = .jsonLines
        } else {
            throw .failure("\(path): the name must end in .csv or .jsonl, or either with .gz, to tell what it holds")
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
