internal import SluiceModel
internal import SluiceQuery
internal import SluiceViews
internal import SluiceWire

/// Collects a view's objects into blocks of bounded size.
struct ViewBlockBuilder {
    private(set) var blocks: [ViewBlock]
    private let rowCountMax: Int
    private let byteCountMax: Int
    private var count = 0

    /// - Parameters:
    ///   - byteCountMax: a block takes nothing more once its content is about so many bytes before compression.
    ///   - authors: who made the versions concerned; the first block names them.
    init(rowCountMax: Int, byteCountMax: Int, authors: [CommitAuthor] = []) {
        self.rowCountMax = rowCountMax
        self.byteCountMax = byteCountMax
        blocks = [ViewBlock(authors: authors)]
    }

    /// Adds the properties of an object that a client lacks; does nothing if the object is gone.
    mutating func add(_ object: ViewObject, role: RowRole, source: any ObjectSource) throws {
        guard let row = try source.row(object.object) else { return }
        add(row, of: object.object.classIndex, properties: object.changed, role: role)
    }

    /// Adds the given properties of a row.
    mutating func add(_ row: Row, of classIndex: Int, properties: PropertySet, role: RowRole) {
        makeRoom()
        blocks[blocks.count - 1].objects.append(row, classIndex: classIndex, role: role, properties: properties)
    }

    mutating func add(_ departure: ViewDeparture, role: RowRole) {
        add(departure.object, role: role, reason: departure.reason)
    }

    mutating func add(_ object: ObjectRef, role: RowRole, reason: RemovalReason) {
        makeRoom()
        blocks[blocks.count - 1].departures.append(.init(object, role: role, reason: reason))
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
