package import SluiceModel

/// A database in which a transaction may write on trial, so that its queries find what it has written so far. Nothing of
/// it stays, and nobody else sees it.
package protocol TrialStorage: ObjectReading, QueryPlanning, JobRecords {
    /// Begins a trial, unless one has begun.
    func beginTrial() throws

    /// Writes an object; nil deletes it.
    func tryOut(_ row: Row?, of object: ObjectRef) throws

    /// Undoes what was written on trial.
    func endTrial()
}

extension SQLiteServerStorage: TrialStorage {
    package func beginTrial() throws {
        if !isInTransaction { try begin() }
    }

    package func tryOut(_ row: Row?, of object: ObjectRef) throws {
        if let row { try put(row, ofClass: object.classIndex) } else { try delete(object, version: version) }
    }

    package func endTrial() {
        if isInTransaction { rollback() }
    }
}
