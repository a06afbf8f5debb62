package import SluiceModel

/// Creations of objects of one class that follow each other and set the same properties. They travel by column, like the
/// rows of a block.
struct CreationRun {
    /// Shorter runs travel as single operations.
    static let countMin = 16

    let creations: CreationColumns

    /// The longest run that begins with an operation; nil if it is too short to be one.
    init?(at start: Int, of operations: [ObjectOperation]) {
        guard start + Self.countMin <= operations.count, case .create(let fields) = operations[start].action,
            zip(fields, fields.dropFirst()).allSatisfy({ $0.property < $1.property })
        else { return nil }
        let classIndex = operations[start].object.classIndex
        var end = start
        while end < operations.count, operations[end].object.classIndex == classIndex,
            case .create(let others) = operations[end].action, Self.set(others, like: fields)
        {
            end += 1
        }
        guard end - start >= Self.countMin else { return nil }
        var creations = CreationColumns(classIndex: classIndex, properties: fields.map(\.property))
        for operation in operations[start..<end] { creations.append(operation.object.key, operation.fields) }
        self.creations = creations
    }

    private static func set(_ fields: [FieldOperation], like others: [FieldOperation]) -> Bool {
        guard fields.count == others.count else { return false }
        for index in fields.indices {
            guard fields[index].property == others[index].property else { return false }
            switch fields[index].change {
            case .set, .setDefault: break
            case .add, .clear, .edit, .editList: return false
            }
        }
        return true
    }

    // MARK: The binary form

    /// What stands in the place of an operation's action where a run follows.
    fileprivate static let code: UInt8 = 3
    /// The same, where the run says which values are defaults.
    fileprivate static let codeWithDefaults: UInt8 = 4

    /// Whether a run follows.
    static func isNext(in reader: ByteReader) throws(WireError) -> Bool {
        let next = try reader.peek()
        return next == code || next == codeWithDefaults
    }
}

extension CreationColumns {
    /// A code, class, properties and count, then the keys and a column for each property. Where there are defaults, the
    /// properties that have some come before the keys, and for each a bit for each creation.
    func encode(into writer: inout ByteWriter) {
        let defaulted = PropertySet(zip(properties, defaults).filter { !$1.isEmpty }.map(\.0))
        writer.byte(defaulted.isEmpty ? CreationRun.code : CreationRun.codeWithDefaults)
        writer.varint(classIndex)
        PropertySet(properties).encode(into: &writer)
        writer.varint(count)
        if !defaulted.isEmpty {
            defaulted.encode(into: &writer)
            for bits in defaults where !bits.isEmpty {
                writer.raw(bits)
                writer.raw(repeatElement(0 as UInt8, count: (count + 7) / 8 - bits.count))
            }
        }
        WireColumn.encode(ValueColumn(keys.map(\.value)), into: &writer)
        for column in columns { WireColumn.encode(ValueColumn(column), into: &writer) }
    }
}

extension Creations {
    /// What a transaction has created, with its binary form; nil for so few that they travel as single operations.
    package init?(_ columns: CreationColumns) {
        guard columns.count >= CreationRun.countMin else { return nil }
        var writer = ByteWriter()
        columns.encode(into: &writer)
        self = columns.creations(encoded: writer.bytes)
    }
}

extension Creations: WireCodable {
    /// The form in which they came, that of ``CreationColumns``.
    package func encode(into writer: inout ByteWriter) { writer.raw(encoded) }

    package init(from reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        let code = try reader.byte()
        guard code == CreationRun.code || code == CreationRun.codeWithDefaults else {
            throw reader.malformed("\(code) is no run of creations")
        }
        let classIndex = try reader.position()
        // The set itself counts for nothing, so that a run takes what its operations count for.
        let budget = reader.budget.elements
        let properties = Array(try PropertySet(from: &reader))
        reader.budget.elements = budget
        let announced = try reader.varint()
        let weight = properties.count + 2
        guard announced > 0, announced <= UInt64(reader.budget.elements / weight) else {
            throw WireError(
                .limitExceeded, "\(announced) creations of \(properties.count) properties, more than a frame may hold",
                offset: reader.offset)
        }
        let count = Int(announced)
        try reader.spend(elements: count * weight)
        let defaults =
            code == CreationRun.codeWithDefaults
            ? try Self.defaults(of: properties, count: count, from: &reader)
            : Array(repeating: [], count: properties.count)
        let keyColumn = try WireColumn.decode(count: count, from: &reader)
        let keys = try ObjectKey.keys(of: keyColumn, reader)
        var columns: [ValueColumn] = []
        columns.reserveCapacity(properties.count)
        for _ in properties { columns.append(try Self.column(count: count, from: &reader)) }
        self.init(
            classIndex: classIndex, properties: properties, keys: keys, keyColumn: keyColumn, columns: columns,
            defaults: defaults, encoded: reader.bytes(since: start))
    }

    /// Reads which values of `count` creations are defaults: for each property a bit for each creation, or nothing where
    /// none is.
    private static func defaults(
        of properties: [Int], count: Int, from reader: inout ByteReader
    ) throws(WireError) -> [[UInt8]] {
        let budget = reader.budget.elements
        let defaulted = try PropertySet(from: &reader)
        reader.budget.elements = budget
        guard defaulted.allSatisfy(properties.contains) else {
            throw reader.malformed("defaults of properties that the creations do not set")
        }
        var defaults: [[UInt8]] = []
        for property in properties {
            defaults.append(defaulted.contains(property) ? try reader.raw((count + 7) / 8) : [])
        }
        return defaults
    }

    /// Reads a column. What many rows share takes room in a column once, and in operations for each row, so it counts as
    /// compressed content does.
    private static func column(count: Int, from reader: inout ByteReader) throws(WireError) -> ValueColumn {
        let start = reader.offset
        // What entries of a dictionary share is among what the column expands by.
        let budget = reader.budget.expansion
        let column = try WireColumn.decode(count: count, from: &reader)
        var byteCount = 0
        switch column.content {
        case .texts(_, let texts):
            let lengths = texts.lengths
            for row in 0..<count where column.isNull.isEmpty || !column.isNull[row] {
                byteCount += Int(lengths[texts.index(ofRow: row)])
            }
        case .values(let values): byteCount = values.reduce(0) { $0 + $1.dataSize.byteCount }
        case .null, .key, .integers, .floats, .doubles: break
        }
        let expansion = max(byteCount - (reader.offset - start), budget - reader.budget.expansion)
        guard expansion <= budget else {
            throw WireError(
                .limitExceeded, "a column that expands by \(expansion) bytes; \(budget) may still come",
                offset: reader.offset)
        }
        reader.budget.expansion = budget - expansion
        return column
    }
}
