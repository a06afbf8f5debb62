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

    init(_ place: WindowPlace) {
        key = place.key
        values = place.values
        tie = place.tie
    }
}

/// Where a row stands, or would stand, in the order of a window.
struct WindowPlace {
    let key: ObjectKey
    let values: SortValues
    /// See ``WindowEntry/tie``.
    var tie: UInt64 = 0

    init(key: ObjectKey, values: SortValues) {
        self.key = key
        self.values = values
    }

    init(_ entry: WindowEntry) {
        key = entry.key
        values = entry.values
        tie = entry.tie
    }
}

/// The order of a window's rows.
struct WindowOrder {
    private let order: SortOrder
    private let className: String

    init(_ query: Query) {
        order = SortOrder(query.sort)
        className = query.className
    }

    func compare(_ left: SortValues, _ right: SortValues) -> Int { order.compare(left, right) }

    func compare(_ left: WindowEntry, _ right: WindowEntry) -> Int {
        var place = WindowPlace(right)
        return compare(left, &place)
    }

    /// How an entry stands to a place, which keeps what had to be made for that.
    func compare(_ entry: WindowEntry, _ place: inout WindowPlace) -> Int {
        let side = order.compare(entry.values, place.values)
        if side != 0 || entry.key == place.key { return side }
        let tie = entry.tie != 0 ? entry.tie : id(of: entry.key).high
        if place.tie == 0 { place.tie = id(of: place.key).high }
        if tie != place.tie { return tie < place.tie ? -1 : 1 }
        return id(of: entry.key) < id(of: place.key) ? -1 : 1
    }

    func position(of entry: WindowEntry) -> SortPosition {
        SortPosition(values: order.all(entry.values), id: id(of: entry.key))
    }

    private func id(of key: ObjectKey) -> ObjectID { Identity(className: className, key: key).objectID }
}
