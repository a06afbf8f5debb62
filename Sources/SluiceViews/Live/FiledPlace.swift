/// Where an index has filed a view. What it was filed under follows from this, from the query
/// and, for a window, from ``Window/filedEnd``.
struct FiledPlace {
    /// The number of the view in the index.
    let slot: UInt32
    /// The position of the chosen cover in the filing's covers; -1 if it has none.
    let cover: Int16
    /// Whether changes find the view by itself, and not by its atoms.
    var isFiled = true
    /// Whether it is filed anew when its window holds other rows: it is filed under these, or under no cover at all.
    let followsWindow: Bool
}
