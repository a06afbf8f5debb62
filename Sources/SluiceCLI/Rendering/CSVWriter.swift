internal import SluiceExchange
internal import SluiceModel

/// Writes objects as CSV (RFC 4180, LF): a header with the property names, then one line for each object. Importing the
/// lines into the same class gives the same values: links are keys, collections are JSON, null is empty, and text or
/// data that would read as null is in quotes.
struct CSVWriter {
    static let expansionError = CommandError.usage(
        "--expand is for --format=jsonl: a field of CSV has the key of a link's target")

    private(set) var bytes: [UInt8] = []
    /// The positions of the properties that are written.
    private let positions: [Int]

    /// Begins with the header.
    ///
    /// - Parameter excluded: the properties that the objects come without.
    init(_ classSchema: ClassSchema, without excluded: PropertySet = []) {
        let properties = classSchema.properties
        positions = properties.indices.filter { !properties[$0].isRetired && !excluded.contains($0) }
        write(line: positions.map { properties[$0].name })
    }

    /// Begins with a header of these names.
    init(columns: [String]) {
        positions = Array(columns.indices)
        write(line: columns)
    }

    /// Hands over the lines that were written.
    mutating func flush(to output: StandardOutput) {
        output.append(bytes)
        bytes.removeAll(keepingCapacity: true)
    }

    mutating func write(_ record: Record) {
        write(positions.lazy.map { record.row.absent.contains($0) ? .null : record.row.values[$0] })
    }

    /// Writes a line of values.
    mutating func write(_ values: some Sequence<Value>) {
        for (index, value) in values.enumerated() {
            if index > 0 { bytes.append(0x2C) }
            write(value)
        }
        // A line whose only field is empty would be skipped as a blank line.
        if positions.count == 1, bytes.last ?? 0x0A == 0x0A { bytes.append(contentsOf: NullText.word.utf8) }
        bytes.append(0x0A)
    }

    private mutating func write(line fields: [String]) {
        for (index, field) in fields.enumerated() {
            if index > 0 { bytes.append(0x2C) }
            write(field: field)
        }
        bytes.append(0x0A)
    }

    private mutating func write(_ value: Value) {
        switch value {
        case .null: break
        case .data(let data) where data.isEmpty: write(field: "", inQuotes: true)
        case .string(let text), .link(.string(let text)):
            write(field: text, inQuotes: text.isEmpty || text == NullText.word)
        default: write(field: PlainText.text(of: value))
        }
    }

    private mutating func write(field: String, inQuotes: Bool = false) {
        let needsQuotes = inQuotes || field.utf8.contains { $0 == 0x22 || $0 == 0x2C || $0 == 0x0A || $0 == 0x0D }
        guard needsQuotes else { return bytes.append(contentsOf: field.utf8) }
        bytes.append(0x22)
        for byte in field.utf8 {
            if byte == 0x22 { bytes.append(0x22) }
            bytes.append(byte)
        }
        bytes.append(0x22)
    }
}
