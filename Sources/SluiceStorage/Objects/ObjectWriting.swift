package import SluiceModel

/// A store whose objects can be changed inside a transaction.
package protocol ObjectWriting: ObjectReading {
    /// Whether a transaction is open.
    var isInTransaction: Bool { get }

    /// Runs `body` in a write transaction, and makes what it did durable and visible at its end. If `body` throws, or
    /// if a write in it fails and `body` does not throw, nothing of it is stored. There is at most one transaction at a
    /// time.
    ///
    /// - Throws: what `body` throws, or the first error of a write; ``StorageError/Code/vanished`` if the store's file
    ///   is no longer where it was opened, since what was committed would be lost with it.
    func transaction<Result>(_ body: () throws -> Result) throws -> Result

    /// Adds the classes, properties, indexes, names and wider types of `other` that the schema does not have. Existing
    /// rows get the defaults of new properties. O(rows) where numbers become wider, else independent of the rows.
    ///
    /// - Parameter sides: what to call the store and `other` in messages.
    /// - Throws: `SchemaError` when the two schemas contradict each other; nothing is then changed.
    func merge(_ other: Schema, sides: (own: String, other: String)) throws -> SchemaChanges

    /// Adds the schema of a server, and takes the names that the server has.
    ///
    /// - Throws: `SchemaError` when the server identifies objects in another way; nothing is then changed.
    func adopt(_ server: Schema) throws -> SchemaChanges

    /// Removes a class that has no objects and that no property links to. Its position is not used again.
    ///
    /// - Throws: `SchemaError` that says what is in the way; nothing is changed then.
    func removeClass(_ classIndex: Int) throws

    /// Removes a property of which no object has another value than the default. Its position is not used again.
    ///
    /// - Throws: `SchemaError` that says what is in the way; nothing is changed then.
    func removeProperty(_ property: Int, ofClass classIndex: Int) throws

    /// Stores a new object. A ghost or deleted object of that key becomes present in place.
    ///
    /// - Throws: ``StorageError/Code/constraint`` if the object is present.
    func insert(_ row: Row, ofClass classIndex: Int) throws

    /// Stores a new object if it is not present. Faster than asking first whether it is.
    ///
    /// - Returns: false, and nothing is changed, if the object is present.
    func insertIfAbsent(_ row: Row, ofClass classIndex: Int) throws -> Bool

    /// Writes properties of a present object, and the row's version and `absent`.
    ///
    /// - Parameters:
    ///   - row: the new row.
    ///   - changed: the properties to write.
    ///   - edits: how lists in `row` come from what is stored, so that only their changed elements need be written.
    /// - Throws: ``StorageError/Code/notFound`` if the object is not present.
    func update(_ row: Row, ofClass classIndex: Int, changed: PropertySet, edits: [Int: ListEdits]) throws

    /// Stores a row, whether or not the object is present.
    func put(_ row: Row, ofClass classIndex: Int) throws

    /// Removes an object's content and leaves a tombstone; does nothing if it is not present.
    ///
    /// - Parameter version: the version of the tombstone.
    func delete(_ object: ObjectRef, version: UInt64) throws

    /// Why the store can no longer be used, since its file vanished; nil while it can.
    var failure: StorageError? { get }

    /// Looks whether the store's file is still where it was opened.
    ///
    /// - Throws: ``StorageError/Code/vanished`` if it is not; every transaction fails from then on.
    func checkFile() throws

    /// Why the store was opened for reading only, such as a full disk; ``transaction(_:)`` throws it. Nil if it can be written.
    var obstacle: StorageError? { get }

    /// Tries whether the store's file could be written now: writes a file beside it and removes it.
    ///
    /// - Returns: what prevents it; nil if nothing does.
    func probe() -> StorageError?

    /// Rolls back an open transaction and closes the file, even if others still hold the store. Later calls throw
    /// ``StorageError/Code/misuse`` or ``StorageError/Code/notFound``.
    func close()
}

extension ObjectWriting {
    /// Writes properties of a present object as wholes.
    package func update(_ row: Row, ofClass classIndex: Int, changed: PropertySet) throws {
        try update(row, ofClass: classIndex, changed: changed, edits: [:])
    }
}
