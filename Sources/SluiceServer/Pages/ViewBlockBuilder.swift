internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// Collects a view's objects into blocks of bounded size.
struct ViewBlockBuilder {
    private(set) var blocks: [ViewBlock]
    private let rowCountMax: Int
    private let byteCountMax: Int
    private let sizeCheck: SizeCheck
    private var count = 0

    /// - Parameters:
    ///   - schema: where errors find the names of classes.
    ///   - limits: the largest object that a block takes.
    ///   - byteCountMax: a block takes no more objects once its content has about this many bytes before compression.
    ///   - authors: the authors of the versions concerned; the first block names them.
    init(
        rowCountMax: Int = .max, byteCountMax: Int = .max, authors: [CommitAuthor] = [], schema: Schema,
        limits: DataLimits
    ) {
        sizeCheck = SizeCheck(limits: limits, schema: schema)
        self.rowCountMax = rowCountMax
        self.byteCountMax = byteCountMax
        blocks = [ViewBlock(authors: authors)]
    }

    /// Adds the given properties of a row.
    ///
    /// - Parameter edits: how lists come from what the receivers have, by property.
    /// - Throws: ``StorageError/Code/oversized`` when they take more than a reader accepts.
    mutating func add(
        _ row: Row, of classIndex: Int, properties: PropertySet, role: RowRole, edits: [Int: ListEdits] = [:]
    ) throws {
        makeRoom()
        let before = lastBlockSize
        blocks[blocks.count - 1].objects.append(
            row, classIndex: classIndex, role: role, properties: properties, edits: edits)
        try sizeCheck.check(row, lastBlockSize - before, of: classIndex, properties: properties)
    }

    /// Adds the same properties of rows to the last block, whatever its size.
    ///
    /// - Throws: ``StorageError/Code/oversized`` when those of one take more than a reader accepts.
    mutating func add(_ rows: [Row], of classIndex: Int, properties: PropertySet, role: RowRole) throws {
        count += rows.count
        let sizeCheck = sizeCheck
        try blocks[blocks.count - 1].objects.append(rows, classIndex: classIndex, role: role, properties: properties) {
            try sizeCheck.check($0, $1, of: classIndex, properties: properties)
        }
    }

    /// Whether each of the rows is so small that a reader certainly accepts it.
    func accepts(_ rows: RowColumns) -> Bool { sizeCheck.accepts(rows.rowByteCountMax) }

    /// Adds rows by column to the last block, whatever its size.
    mutating func add(_ rows: RowColumns, of classIndex: Int, properties: PropertySet, role: RowRole) {
        count += rows.count
        blocks[blocks.count - 1].objects.append(rows, classIndex: classIndex, role: role, properties: properties)
    }

    mutating func add(_ departure: ViewDeparture, role: RowRole) {
        add(departure.object, role: role, reason: departure.reason)
    }

    mutating func add(_ object: ObjectRef, role: RowRole, reason: RemovalReason) {
        makeRoom()
        blocks[blocks.count - 1].append(.init(object, role: role, reason: reason))
    }

    /// The approximate size, in bytes before compression, of the block to which objects are being added.
    var lastBlockSize: Int { blocks[blocks.count - 1].estimatedSize }

    /// Begins a new block.
    mutating func beginBlock() {
        blocks.append(ViewBlock())
        count = 0
    }

    private mutating func makeRoom() {
        if count == rowCountMax || lastBlockSize >= byteCountMax { beginBlock() }
        count += 1
    }
}

/// Refuses objects of which more would be sent than a reader accepts.
private struct SizeCheck {
    let limits: DataLimits
    let schema: Schema

    /// Whether a row is accepted that takes so many bytes in a block at the most. No element takes less than a byte.
    func accepts(_ byteCount: Int) -> Bool { byteCount <= min(limits.objectByteCount, limits.objectElementCount) }

    /// - Parameter byteCount: what the row takes in a block, at the most.
    func check(_ row: Row, _ byteCount: Int, of classIndex: Int, properties: PropertySet) throws {
        guard !accepts(byteCount) else { return }
        let part = Row(key: row.key, values: properties.map { row.values[$0] })
        guard let excess = limits.excess(of: part, in: schema[classIndex].name) else { return }
        let id = Identity(className: schema[classIndex].name, key: row.key).objectID
        throw StorageError(
            .oversized,
            "the object \(id) cannot be sent: \(excess); exclude its large properties, make them smaller or delete it")
    }
}
