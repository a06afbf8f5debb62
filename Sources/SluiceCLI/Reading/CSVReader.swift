internal import Glibc

/// Reads comma-separated values by RFC 4180, one record at a time: quoted fields, embedded line breaks, LF or CRLF, a
/// leading byte-order mark. It skips blank lines, unless records have one field.
///
/// The reader first finds a whole record and then divides it into fields within the buffer; it copies nothing.
final class CSVReader {
    /// The column names of the first record.
    private(set) var header: [String] = []
    /// The line that the current record begins on, from 1.
    private(set) var line = 1
    private let buffer: RecordBuffer
    /// The current record, where it is in the buffer. The bytes stay there until the next record is looked for.
    private var record = UnsafeMutableBufferPointer<UInt8>(start: nil, count: 0)
    private var fields: [Range<Int>] = []
    /// The fields of the current record that were in quotes; empty if none were.
    private var quoted: Set<Int> = []
    private var nextLine = 1
    private var hasStarted = false

    /// Opens a file and reads its header.
    ///
    /// - Throws: ``CommandError`` when the file cannot be read or has no usable header.
    init(path: String) throws(CommandError) {
        buffer = RecordBuffer(try ByteSource(path: path))
        do {
            guard try next() else { throw CommandError.failure("\(path): the file is empty; a header line is missing") }
            for index in fields.indices {
                guard let name = text(of: index) else {
                    throw CommandError.failure("\(path):1: the name of column \(index + 1) is not UTF-8")
                }
                header.append(name)
            }
        } catch let error as RowError {
            throw .failure(error.description(file: path))
        } catch let error as CommandError {
            throw error
        } catch {
            throw .failure("\(path): \(error)")
        }
    }

    var source: ByteSource { buffer.source }

    /// Moves to the next record.
    ///
    /// - Returns: false at the end of the file.
    /// - Throws: ``RowError`` when the record is malformed or has another number of fields than the header, after which
    ///   reading can continue with the next record; ``CommandError`` when the file cannot be read further.
    func next() throws -> Bool {
        while true {
            guard let (length, lineBreaks, hasQuotes) = try findRecord() else { return false }
            line = nextLine
            nextLine += lineBreaks
            record = UnsafeMutableBufferPointer(rebasing: buffer.bytes[..<length])
            buffer.consume(length)
            fields.removeAll(keepingCapacity: true)
            if !quoted.isEmpty { quoted.removeAll(keepingCapacity: true) }
            if hasQuotes { try cutQuoted() } else { cutPlain() }
            guard !header.isEmpty else { return true }
            if fields.count == header.count { return true }
            if fields.count == 1, fields[0].isEmpty, quoted.isEmpty { continue }
            throw RowError(
                line: line, column: nil,
                message:
                    "\(fields.count) \(GroupedNumber.noun(fields.count, "field")), and the header has \(header.count)"
            )
        }
    }

    var fieldCount: Int { fields.count }

    /// The bytes of a field, without its quotes. Valid until the next record.
    func bytes(of field: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(UnsafeMutableBufferPointer(rebasing: record[fields[field]]))
    }

    /// Whether a field was in quotes. Quotes turn a cell that would mean null into text.
    func isQuoted(_ field: Int) -> Bool { quoted.contains(field) }

    /// The text of a field; nil when it is not UTF-8.
    func text(of field: Int) -> String? { String(validating: bytes(of: field), as: UTF8.self) }

    /// Finds the end of the first record in the buffer, and refills the buffer until it contains the whole record.
    private func findRecord() throws -> (length: Int, lineBreaks: Int, hasQuotes: Bool)? {
        while true {
            if !hasStarted, buffer.bytes.count >= 3 || buffer.isAtEnd {
                hasStarted = true
                if buffer.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { buffer.consume(3) }
            }
            if hasStarted {
                let bytes = buffer.bytes
                if let found = Self.firstRecord(of: bytes) { return found }
                if buffer.isAtEnd {
                    guard bytes.count > 0 else { return nil }
                    return try lastRecord(of: bytes)
                }
            }
            try buffer.refill()
        }
    }

    private static func firstRecord(
        of bytes: UnsafeMutableBufferPointer<UInt8>
    ) -> (length: Int, lineBreaks: Int, hasQuotes: Bool)? {
        guard let start = bytes.baseAddress, let lineFeed = memchr(start, 0x0A, bytes.count) else { return nil }
        let length = UnsafeRawPointer(lineFeed) - UnsafeRawPointer(start) + 1
        if memchr(start, 0x22, length) == nil { return (length, 1, false) }
        var scanner = QuoteScanner()
        for index in 0..<bytes.count where scanner.endsRecord(at: bytes[index]) {
            return (index + 1, scanner.lineBreaks, true)
        }
        return nil
    }

    /// The record before the end of the file, if no line feed follows it.
    private func lastRecord(
        of bytes: UnsafeMutableBufferPointer<UInt8>
    ) throws -> (length: Int, lineBreaks: Int, hasQuotes: Bool) {
        guard bytes.contains(0x22) else { return (bytes.count, 0, false) }
        var scanner = QuoteScanner()
        for byte in bytes { _ = scanner.endsRecord(at: byte) }
        guard !scanner.isInsideQuotes else {
            let line = nextLine + scanner.lineOfQuote
            throw CommandError.failure("\(source.path):\(line): a quoted field begins here and never ends")
        }
        return (bytes.count, 0, true)
    }

    private func cutPlain() {
        var end = record.count
        if end > 0, record[end - 1] == 0x0A { end -= 1 }
        if end > 0, record[end - 1] == 0x0D { end -= 1 }
        var start = 0
        for index in 0..<end where record[index] == 0x2C {
            fields.append(start..<index)
            start = index + 1
        }
        fields.append(start..<end)
    }

    private func cutQuoted() throws(RowError) {
        var end = record.count
        if end > 0, record[end - 1] == 0x0A { end -= 1 }
        if end > 0, record[end - 1] == 0x0D { end -= 1 }
        var index = 0
        while true {
            if index < end, record[index] == 0x22 {
                index = try cutQuotedField(from: index + 1, end: end)
            } else {
                let start = index
                while index < end, record[index] != 0x2C {
                    if record[index] == 0x22 {
                        throw fault(
                            "a quote within an unquoted field; quote the whole field and double the quotes in it")
                    }
                    index += 1
                }
                fields.append(start..<index)
            }
            guard index < end else { return }
            index += 1
        }
    }

    /// Removes the doubling of quotes in place. Returns the position of the comma or end after the field.
    private func cutQuotedField(from start: Int, end: Int) throws(RowError) -> Int {
        var read = start
        var written = start
        while read < end {
            if record[read] == 0x22 {
                guard read + 1 < end, record[read + 1] == 0x22 else { break }
                read += 1
            }
            record[written] = record[read]
            written += 1
            read += 1
        }
        guard read < end else { throw fault("a quoted field that never ends") }
        guard read + 1 == end || record[read + 1] == 0x2C else {
            throw fault("text behind the closing quote of a field")
        }
        quoted.insert(fields.count)
        fields.append(start..<written)
        return read + 1
    }

    private func fault(_ message: String) -> RowError {
        let column = fields.count < header.count ? header[fields.count] : nil
        return RowError(line: line, column: column, message: message)
    }
}

/// Follows quotes to distinguish line breaks within fields from those between records. A quote counts only at the
/// beginning of a field, so that a stray quote affects only its own line.
private struct QuoteScanner {
    private(set) var isInsideQuotes = false
    private(set) var lineBreaks = 0
    /// The line on which the last quoted field begins, counted from the start of the record.
    private(set) var lineOfQuote = 0
    private var isAtFieldStart = true
    private var isBehindQuote = false

    mutating func endsRecord(at byte: UInt8) -> Bool {
        if byte == 0x0A { lineBreaks += 1 }
        if isInsideQuotes {
            if byte == 0x22 {
                isInsideQuotes = false
                isBehindQuote = true
            }
            return false
        }
        if byte == 0x22, isAtFieldStart || isBehindQuote {
            if isAtFieldStart { lineOfQuote = lineBreaks }
            isInsideQuotes = true
        }
        isAtFieldStart = byte == 0x2C
        isBehindQuote = false
        return byte == 0x0A
    }
}
