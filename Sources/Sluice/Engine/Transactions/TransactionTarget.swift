package import SluiceModel
package import SluiceStorage

/// What a transaction's writes are applied to: a store, or a database of a server in this process.
package protocol TransactionTarget: AnyObject {
    /// Reads the state with the transaction's writes, for queries.
    var reader: any ClientReading { get throws }

    /// Reads the object as the transaction sees it; nil if it is not there.
    func row(_ object: ObjectRef) throws -> Row?

    /// Stores some properties of an object that is there.
    ///
    /// - Parameters:
    ///   - old: the row as it is.
    ///   - edits: how lists come from what they are.
    func update(
        _ row: Row, of object: ObjectRef, changed: PropertySet, replacing old: Row, edits: [Int: ListEdits]) throws

    /// Deletes an object.
    ///
    /// - Parameter old: the row as it is; nil if the object is not there.
    func delete(_ object: ObjectRef, replacing old: Row?) throws

    /// Stores an object unless it is there.
    ///
    /// - Returns: whether the object was stored.
    @discardableResult
    func insert(_ row: Row, of object: ObjectRef) throws -> Bool

    /// Whether an object that is here is known to be there, or its deletion would be heard of.
    func isKeptCurrent(_ object: ObjectRef) throws -> Bool
}
