internal import SluiceModel

/// Creations of objects of one class that follow each other and set the same properties. They travel by column, like the
/// rows of a block.
struct CreationRun {
    /// Shorter runs travel as single operations.
    static let countMin = 16

    private let classIndex: Int
    /// The properties that every creation sets, ascending.
    private let properties: [Int]
    private let operations: ArraySlice<ObjectOperation>

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
        self.classIndex = classIndex
        properties = fields.map(\.property)
        self.operations = operations[start..<end]
    }

    /// How many operations there are.
    var count: Int { operations.count }

    private static func set(_ fields: [FieldOperation], like others: [FieldOperation]) -> Bool {
        guard fields.count == others.count else { return false }
        for index in fields.indices {
            guard fields[index].property == others[index].property, case .set = fields[index].change else {
                return false
            }
        }
        return true
    }

    // MARK: The binary form

    /// Class, properties and count, then the keys and a column for each property.
    func encode(into writer: inout ByteWriter) {
        writer.varint(classIndex)
        PropertySet(properties).encode(into: &writer)
        writer.varint(count)
        let keys = operations.map(\.object.key.value)
        keys.withUnsafeBufferPointer {
            Column.encode(ColumnCells($0, first: 0, stride: 1, count: count), into: &writer)
        }
        var cells: [Value] = []
        cells.reserveCapacity(count * properties.count)
        for operation in operations {
            guard case .create(let fields) = operation.action else { continue }
            for field in fields {
                if case .set(let value) = field.change { cells.append(value) }
            }
        }
        cells.withUnsafeBufferPointer { cells in
            for index in properties.indices {
                Column.encode(
                    ColumnCells(cells, first: index, stride: properties.count, count: count), into: &writer)
            }
        }
    }

    /// Reads a run, and appends its operations.
    static func decode(into operations: inout [ObjectOperation], from reader: inout ByteReader) throws(WireError) {
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
        let keys = try ObjectKey.column(count: count, from: &reader)
        var columns: [[Value]] = []
        columns.reserveCapacity(properties.count)
        for _ in properties { columns.append(try values(count: count, from: &reader)) }
        operations.reserveCapacity(operations.count + count)
        for row in 0..<count {
            let fields = properties.indices.map { FieldOperation(properties[$0], .set(columns[$0][row])) }
            operations.append(ObjectOperation(ObjectRef(classIndex, keys[row]), .create(fields)))
        }
    }

    /// Reads a column as values. What many rows share takes room in a column once, and in operations for each row, so
    /// it counts as compressed content does.
    private static func values(count: Int, from reader: inout ByteReader) throws(WireError) -> [Value] {
        let start = reader.offset
        let column = try Column.decode(count: count, from: &reader)
        var values: [Value] = []
        values.reserveCapacity(count)
        var byteCount = 0
        if case .texts(let kind, let texts) = column.content {
            let distinct = (0..<texts.distinctCount).map { index -> Value in
                kind == .string ? .string(texts.text(index)) : .link(.string(texts.text(index)))
            }
            for row in 0..<count {
                if !column.isNull.isEmpty, column.isNull[row] {
                    values.append(.null)
                } else {
                    byteCount += texts.utf8(texts.index(ofRow: row)).count
                    values.append(distinct[texts.index(ofRow: row)])
                }
            }
        } else {
            values = column.values(keys: [])
            if case .values = column.content { byteCount = values.reduce(0) { $0 + $1.dataSize.byteCount } }
        }
        let expansion = max(0, byteCount - (reader.offset - start))
        guard expansion <= reader.budget.expansion else {
            throw WireError(
                .limitExceeded,
                "a column that expands by \(expansion) bytes; \(reader.budget.expansion) may still come",
                offset: reader.offset)
        }
        reader.budget.expansion -= expansion
        return values
    }
}
