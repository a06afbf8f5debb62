internal import Sluice
internal import SluiceModel

/// A file to import. It is read twice: first to infer the types of its columns, then for its rows.
struct ImportFile: Sendable {
    let path: String
    let skipsBadRows: Bool
    private let format: ImportFormat

    /// - Throws: ``CommandError`` when the file cannot be opened, or when its name has no known extension.
    init(path: String, skipsBadRows: Bool) throws(CommandError) {
        self.path = path
        self.skipsBadRows = skipsBadRows
        try ByteSource.check(path)
        format = try ImportFormat(path: path)
    }

    /// Reports the progress of a pass.
    typealias Progress = (_ rows: Int, _ source: ByteSource) throws -> Void

    private static let progressInterval = 1 << 12

    /// Runs the first pass, which infers every column from the whole file.
    ///
    /// - Throws: ``CommandError`` at the first malformed row, unless bad rows are skipped.
    func infer(progress: Progress = { _, _ in }) throws -> [(name: String, inference: ColumnInference)] {
        let reader = try format.reader(path: path)
        try checkColumnCount(reader)
        var inferences: [ColumnInference] = reader.columns.map { _ in ColumnInference() }
        var rows = 0
        while true {
            do {
                guard try reader.next() else { break }
                reader.observe(into: &inferences)
                try checkColumnCount(reader)
            } catch let error as RowError {
                guard skipsBadRows else { throw CommandError.failure(error.description(file: path)) }
            }
            rows += 1
            if rows % Self.progressInterval == 0 { try progress(rows, reader.source) }
        }
        guard !reader.columns.isEmpty else { throw CommandError.failure("\(path): there is no row to import") }
        return zip(reader.columns, inferences).map { ($0, $1) }
    }

    private func checkColumnCount(_ reader: any RowReader) throws(CommandError) {
        let (count, limit) = (reader.columns.count, Schema.propertyCountMax)
        guard count > limit else { return }
        throw .failure("\(path): \(count) columns; a class has at most \(limit) properties")
    }

    /// A warning about a file that is readable but looks wrong as a whole; nil if there is none.
    func warning() throws(CommandError) -> String? {
        try format.reader(path: path).valueInHeader.map {
            "\(path):1: the column name '\($0)' looks like a value; is the header line missing?"
        }
    }

    /// Starts the second pass.
    func rows(_ plan: ImportPlan, ids: ObjectIDGenerator = .process) throws(CommandError) -> ImportRows {
        ImportRows(file: self, reader: try format.reader(path: path), plan: plan, ids: ids)
    }
}

/// The second pass over a file, which returns its rows in batches.
final class ImportRows {
    /// The maximum number of bad rows that are reported one by one.
    static let reportedRowsMax = 20

    private let file: ImportFile
    private let reader: any RowReader
    private let plan: ImportPlan
    private let ids: ObjectIDGenerator
    /// The row that did not fit into the last batch, and its size in bytes.
    private var held: (record: Record, byteCount: Int)?
    /// How many bad rows were skipped.
    private(set) var badRowCount = 0

    init(file: ImportFile, reader: any RowReader, plan: ImportPlan, ids: ObjectIDGenerator) {
        self.file = file
        self.reader = reader
        self.plan = plan
        self.ids = ids
    }

    var source: ByteSource { reader.source }

    /// Reads the next batch of rows; empty at the end of the file.
    ///
    /// - Parameters:
    ///   - count: the maximum number of rows.
    ///   - byteCount: the approximate maximum of their bytes together; a single row may have more.
    /// - Throws: ``CommandError`` at a bad row, unless bad rows are skipped.
    func batch(upTo count: Int, byteCount: Int = .max) throws -> [Record] {
        var records: [Record] = []
        records.reserveCapacity(count)
        var room = byteCount
        while records.count < count, let next = try nextRow() {
            guard records.isEmpty || next.byteCount <= room else {
                held = next
                break
            }
            records.append(next.record)
            room -= next.byteCount
        }
        return records
    }

    private func nextRow() throws -> (record: Record, byteCount: Int)? {
        if let held {
            self.held = nil
            return held
        }
        while true {
            do {
                guard try reader.next() else { return nil }
                let row = try reader.row(plan, ids: ids)
                if let excess = excess(of: row) {
                    throw RowError(line: reader.line, column: nil, message: excess.description)
                }
                return (Record(classSchema: plan.classSchema, row: row), row.dataSize.byteCount)
            } catch let error as RowError {
                let message = error.description(file: file.path)
                guard file.skipsBadRows else { throw CommandError.failure(message) }
                badRowCount += 1
                if badRowCount <= Self.reportedRowsMax { Diagnostics.report("skipped: \(message)") }
                if badRowCount == Self.reportedRowsMax + 1 { Diagnostics.report("further bad rows are counted only") }
            }
        }
    }

    private func excess(of row: Row) -> LimitExcess? {
        let (limits, declared) = (DataLimits.standard, plan.classSchema)
        return limits.excess(of: row.key, in: declared.name) ?? limits.excess(of: row, in: declared.name)
    }
}
