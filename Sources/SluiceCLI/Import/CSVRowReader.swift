internal import SluiceExchange
internal import SluiceJSON
internal import SluiceModel

/// Reads the rows of a CSV file.
final class CSVRowReader: RowReader {
    private let reader: CSVReader

    /// - Throws: ``CommandError`` when the file cannot be read, or its header has an empty or repeated column name.
    init(path: String) throws(CommandError) {
        reader = try CSVReader(path: path)
        var seen: Set<String> = []
        for (index, name) in reader.header.enumerated() {
            if name.utf8.contains(0x0D), !reader.isQuoted(index) {
                throw .failure(
                    "\(path):1: the header holds a carriage return: lines must end with LF or CRLF, not CR alone; tr '\\r' '\\n' makes them so"
                )
            }
            if name.isEmpty { throw .failure("\(path):1: column \(index + 1) has no name") }
            if !seen.insert(name).inserted { throw .failure("\(path):1: two columns are named '\(name)'") }
        }
    }

    var columns: [String] { reader.header }

    /// A name in the header that looks like a number or a date, as happens in a file without a header.
    var valueInHeader: String? {
        reader.header.first { name in
            Array(name.utf8).withUnsafeBufferPointer {
                NumberText.double($0) != nil || NumberText.date($0) != nil
            }
        }
    }

    var source: ByteSource { reader.source }

    var line: Int { reader.line }

    func next() throws -> Bool { try reader.next() }

    func observe(into columns: inout [ColumnInference]) {
        while columns.count < reader.fieldCount { columns.append(ColumnInference()) }
        for index in 0..<reader.fieldCount {
            columns[index].observe(text: reader.bytes(of: index), isQuoted: reader.isQuoted(index))
        }
    }

    func row(_ plan: ImportPlan, ids: ObjectIDGenerator) throws(RowError) -> Row {
        var values = plan.classSchema.properties.map(\.defaultValue)
        var key: ObjectKey?
        for index in plan.columns.indices {
            let column = plan.columns[index]
            let position = columnPositions(plan)[index]
            let bytes = reader.bytes(of: position)
            let isQuoted = reader.isQuoted(position)
            let isKey = index == plan.keyColumn
            if isKey, NullText.matches(bytes), !(isQuoted && column.codec.takesAnyText) {
                throw RowError(line: reader.line, column: column.name, message: "it is the key, and it is empty")
            }
            do throws(ConversionError) {
                let value = try column.codec.value(text: bytes, isQuoted: isQuoted)
                if let property = column.property { values[property] = value }
                if isKey { key = value.asKey }
            } catch {
                throw RowError(line: reader.line, column: column.name, message: error.message)
            }
        }
        return Row(key: key ?? .id(ids.next()), values: values, absent: plan.absent)
    }

    private var positions: [Int] = []

    /// The positions of the plan's columns in a record. They may differ, since a plan leaves out the column `@id` for a
    /// class with a primary key.
    private func columnPositions(_ plan: ImportPlan) -> [Int] {
        if positions.isEmpty {
            positions = plan.columns.map { column in reader.header.firstIndex(of: column.name) ?? 0 }
        }
        return positions
    }
}

extension Value {
    /// The key that a key column with this value names.
    var asKey: ObjectKey? {
        if case .objectID(let id) = self { return .id(id) }
        return ObjectKey(primaryKey: self)
    }
}
