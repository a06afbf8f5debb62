/// A position in the order of storage, at which the next page begins. It stays valid while objects are added and
/// removed, for as long as the store is open.
package struct RowCursor: Hashable, Sendable {
    /// How the next page is found.
    enum Position: Hashable, Sendable {
        /// After a row.
        case behind(Int64)
        /// At a position in a list of rows, which was made when the first page was asked for.
        case listed([Int64], next: Int)
    }

    let position: Position

    /// A row id up to which the pages before have read everything.
    var lastRow: Int64 {
        switch position {
        case .behind(let row): row
        case .listed(let list, let next): next < list.count ? list[next] - 1 : list.last ?? 0
        }
    }
}
