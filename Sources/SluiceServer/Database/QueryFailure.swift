internal import SluiceQuery
internal import SluiceStorage
internal import SluiceWire

extension StorageError {
    /// Whether other queries of the database may do better: the query is to blame, or it meets damage or an object that
    /// is too large to be sent.
    var endsQueryAlone: Bool { code == .interrupted || code == .unsupported || code == .oversized || isOfDamage }
}

extension Database {
    /// Logs that a query was refused or given up, see ``StorageError/endsQueryAlone``, without its constants, which may
    /// be private.
    func noteRefusal(_ what: String, _ query: Query, _ error: StorageError) {
        guard !error.isOfDamage else { return noteFailure("\(what): \(query.form.text)", error) }
        note(.warning, what, [("query", query.form.text), ("error", "\(error)")])
    }

    /// The error for the subscriber of a query that ends alone, see ``StorageError/endsQueryAlone``.
    func subscriberError(of error: StorageError) -> (code: ErrorCode, message: String) {
        if error.isOfDamage {
            let damage = Consequence.damage(of: name, error)
            return (.databaseDamaged, "\(damage) where this query leads; it has to be restored from a backup")
        }
        if error.code == .interrupted {
            let advice = "make it more selective, or do without aggregates and subqueries for each of many objects"
            return (.limitExceeded, "the query takes more work than this server allows; \(advice)")
        }
        if error.code == .oversized { return (.limitExceeded, error.message) }
        return (.invalidQuery, "the server's database does not take the query; write it with less nesting")
    }
}
