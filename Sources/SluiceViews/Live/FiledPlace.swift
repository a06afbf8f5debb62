import SluiceQuery

/// Where an index has filed a view. What it was filed under follows from this and from the query.
struct FiledPlace {
    /// The number of the view in the index.
    let slot: UInt32
    /// The position of the chosen cover in the filing's covers; -1 if it has none.
    let cover: Int16
    /// The window's conditions when the view was filed.
    let window: [QueryCover.Anchor]?
}
