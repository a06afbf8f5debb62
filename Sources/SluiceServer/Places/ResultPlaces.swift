internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// Finds which rows of what is sent of a view are results, and where they stand, for sessions with
/// ``Features/light``.
///
/// Most orders read properties that the rows have. Others are computed from the objects as they are stored now, which is
/// how the rows are: a page is sent while its objects are as they were read.
struct ResultPlaces {
    let live: LiveView
    let storage: SQLiteServerStorage

    /// The places in a change of the view: of each result that it names, with a key where the result is new or may have
    /// moved; and of those that other objects have moved.
    func rows(of delta: ViewDelta) throws -> [ServerMessage.Place] {
        var rows: [ServerMessage.Place] = []
        rows.reserveCapacity(delta.entered.count + delta.updated.count)
        let byLinks = live.placesByLinks
        for entered in delta.entered { rows.append(try place(entered.object)) }
        for updated in delta.updated {
            let mayMove = byLinks || updated.changed.meets(live.placingProperties)
            rows.append(mayMove ? try place(updated.object) : .init(updated.object, nil))
        }
        if byLinks {
            let causes =
                (delta.linkedEntered + delta.linkedUpdated + delta.entered + delta.updated).map(\.object)
                + (delta.linkedLeft + delta.left).map(\.object)
            try addMoved(by: causes, to: &rows)
        }
        return rows
    }

    /// The places in a block.
    ///
    /// - Parameter movesOthers: whether the client may have results already that what the block brings has moved.
    func rows(of block: ViewBlock, movesOthers: Bool) throws -> [ServerMessage.Place] {
        var rows: [ServerMessage.Place] = []
        for group in block.objects.groups where group.role != .linked {
            let isWhole = !live.placesByLinks && live.placingProperties.subtracting(group.properties).isEmpty
            for position in 0..<group.count {
                let object = ObjectRef(group.classIndex, group.keys[position])
                if group.role == .member, try !live.isResult(object, in: storage) { continue }
                rows.append(isWhole ? try place(group.row(at: position)) : try place(object))
            }
        }
        guard movesOthers, live.placesByLinks else { return rows }
        try addMoved(by: block.objects.rows.map(\.object) + block.departures.map(\.object), to: &rows)
        return rows
    }

    private func addMoved(by causes: [ObjectRef], to rows: inout [ServerMessage.Place]) throws {
        let moved = try live.results(placedBy: causes, in: storage)
        guard !moved.isEmpty else { return }
        let known = Set(rows.map(\.object))
        for object in moved where !known.contains(object) { rows.append(try place(object)) }
    }

    /// The place of a result as it is stored.
    private func place(_ object: ObjectRef) throws -> ServerMessage.Place {
        guard let row = try storage.row(object) else { return .init(object, nil) }
        return .init(object, try live.placeText(of: row, ofClass: object.classIndex, in: storage))
    }

    /// The place of a result that comes with all that the order reads.
    private func place(_ row: BlockRow) throws -> ServerMessage.Place {
        let declared = storage.schema[row.object.classIndex]
        var values = declared.defaultValues(for: row.object.key)
        for (position, value) in zip(row.properties, row.values) { values[position] = value }
        let whole = Row(key: row.object.key, values: values)
        return .init(row.object, try live.placeText(of: whole, ofClass: row.object.classIndex, in: storage))
    }
}
