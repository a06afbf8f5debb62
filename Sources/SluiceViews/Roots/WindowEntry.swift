import SluiceModel
import SluiceQuery

/// One row that a window holds: where it stands in the order, and its key. There are many, so an entry has no array and
/// no id.
struct WindowEntry {
    let key: ObjectKey
    let values: SortValues
    /// The first 64 bits of the object's id, which decides between rows with the same values. Zero if it was not needed
    /// yet, since making an id takes longer than everything else.
    let tie: UInt64
    /// See ``WindowPlace/rank``.
    let rank: UInt64

    init(_ place: WindowPlace) {
        key = place.key
        values = place.values
        tie = place.tie
        rank = place.rank
    }
}

/// Where a row stands, or would stand, in the order of a window.
struct WindowPlace {
    let key: ObjectKey
    let values: SortValues
    /// A number that never descends in the order; see ``WindowOrder/place(_:_:)``.
    let rank: UInt64
    /// See ``WindowEntry/tie``.
    var tie: UInt64 = 0

    fileprivate init(key: ObjectKey, values: SortValues, rank: UInt64) {
        self.key = key
        self.values = values
        self.rank = rank
    }

    init(_ entry: WindowEntry) {
        key = entry.key
        values = entry.values
        rank = entry.rank
        tie = entry.tie
    }
}

/// The order of a window's rows.
struct WindowOrder {
    private let order: SortOrder
    private let className: String
    private let isAscending: Bool
    /// Whether the first values of all rows are of one type, so that their order keys say something of the order.
    private let isRanked: Bool

    init(_ query: Query, _ shape: ViewShape) {
        order = SortOrder(query.sort)
        className = query.className
        isAscending = query.sort.first?.isAscending ?? true
        isRanked = shape.sortsByProperty
    }

    /// The place of a row, with a number by which most rows are told apart.
    func place(_ key: ObjectKey, _ values: SortValues) -> WindowPlace {
        guard isRanked else { return WindowPlace(key: key, values: values, rank: 0) }
        let rank = values.first.windowRank
        return WindowPlace(key: key, values: values, rank: isAscending ? rank : ~rank)
    }

    func compare(_ left: SortValues, _ right: SortValues) -> Int { order.compare(left, right) }

    func compare(_ left: WindowEntry, _ right: WindowEntry) -> Int {
        if left.rank != right.rank { return left.rank < right.rank ? -1 : 1 }
        var place = WindowPlace(right)
        return compare(left, &place)
    }

    /// How an entry stands to a place, which keeps what had to be made for that.
    func compare(_ entry: WindowEntry, _ place: inout WindowPlace) -> Int {
        if entry.rank != place.rank { return entry.rank < place.rank ? -1 : 1 }
        let side = order.compare(entry.values, place.values)
        if side != 0 || entry.key == place.key { return side }
        let tie = entry.tie != 0 ? entry.tie : id(of: entry.key).high
        if place.tie == 0 { place.tie = id(of: place.key).high }
        if tie != place.tie { return tie < place.tie ? -1 : 1 }
        return id(of: entry.key) < id(of: place.key) ? -1 : 1
    }

    /// Sorts rows. The number that decides between equal values is made once for each.
    func sorted(_ entries: [WindowEntry]) -> [WindowEntry] {
        let decided = entries.map { entry in
            var place = WindowPlace(entry)
            if place.tie == 0 { place.tie = id(of: entry.key).high }
            return WindowEntry(place)
        }
        return decided.sorted { compare($0, $1) < 0 }
    }

    func position(of entry: WindowEntry) -> SortPosition {
        SortPosition(values: order.all(entry.values), id: id(of: entry.key))
    }

    private func id(of key: ObjectKey) -> ObjectID { Identity(className: className, key: key).objectID }
}

extension Value {
    /// The ``orderKey``, except where it takes longer to make than to compare the values.
    fileprivate var windowRank: UInt64 { if case .decimal = self { 1 } else { orderKey } }
}
