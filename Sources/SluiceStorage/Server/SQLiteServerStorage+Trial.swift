package import SluiceModel

/// Writing on trial within a transaction of the server's own process, so that its queries find what it has written so
/// far. Nothing of it stays, and nobody else sees it.
extension SQLiteServerStorage {
    /// Begins a trial, unless one has begun.
    package func beginTrial() throws {
        if !isInTransaction { try begin() }
    }

    /// Writes an object; nil deletes it.
    package func tryOut(_ row: Row?, of object: ObjectRef) throws {
        if let row { try put(row, ofClass: object.classIndex) } else { try delete(object, version: version) }
    }

    /// Undoes what was written on trial.
    package func endTrial() {
        if isInTransaction { rollback() }
    }
}
