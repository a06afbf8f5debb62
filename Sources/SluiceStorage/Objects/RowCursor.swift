/// A place in the order of storage. It stays good while objects come and go, for as long as the store is open.
package struct RowCursor: Hashable, Sendable {
    /// Where the next page begins.
    enum Place: Hashable, Sendable {
        /// Behind a row.
        case behind(Int64)
        /// At a position in a list of rows, which was made when the first page was asked for.
        case listed([Int64], next: Int)
    }

    let place: Place

    /// The row that the page before ended with.
    var lastRow: Int64 {
        switch place {
        case .behind(let row): row
        case .listed(let list, let next): next < list.count ? list[next] - 1 : list.last ?? 0
        }
    }
}
