internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// What clients are told when a database cannot be read or written. A damaged file has consequences of its own: a query
/// that meets the damage ends for good, nothing more is written, and what can be read is served.
enum Consequence {
    /// The code and action for an error of the store: damage is permanent, and any other error may pass.
    static func of(_ error: any Error) -> (code: ErrorCode, action: ErrorAction) {
        guard let error = error as? StorageError else { return (.internalError, .retry) }
        return switch error.code {
        case .damaged, .notADatabase, .foreignFile: (.databaseDamaged, .stop)
        case .newerFormat: (.internalError, .stop)
        case .detached: (.unknownDatabase, .retry)
        default: (.internalError, .retry)
        }
    }

    /// The code, action and message for sessions whose database cannot be opened.
    ///
    /// - Parameter takesExistingOnly: whether the session wants no database that is made for it.
    static func ofOpening(
        _ name: String, _ error: any Error, takesExistingOnly: Bool = false
    ) -> (code: ErrorCode, action: ErrorAction, message: String) {
        if let error = error as? SchemaError { return (.limitExceeded, .stop, error.message) }
        if (error as? StorageError)?.code == .notFound {
            let absence = "the cluster has no database '\(name)'"
            guard !takesExistingOnly else { return (.unknownDatabase, .stop, absence) }
            // Somebody else may make it.
            return (.unknownDatabase, .retry, "\(absence); a session that may declare classes makes it")
        }
        let (code, action) = of(error)
        if (error as? StorageError)?.code == .detached {
            return (code, takesExistingOnly ? .stop : action, detachment(of: name))
        }
        return (code, action, sentence("the server could not open the database", of: name, because: error))
    }

    /// Which file is damaged, and how.
    static func damage(of name: String, _ error: StorageError) -> String {
        let reason = error.damage.isEmpty ? "" : " (\(error.damage))"
        return "the server's database file \(DatabaseFileName.of(name)) is damaged\(reason)"
    }

    /// What has become of a database that has left its cluster, and what helps. Where it is now is for its operator to say.
    static func detachment(of name: String) -> String {
        "the database '\(name)' was detached from this cluster, and another server has it now; connect to that one, whose "
            + "address its operator knows. A store keeps what it has, and sends there what it has not uploaded"
    }

    /// The message to clients about a database that cannot be used. It gives the reason, but no names of folders.
    ///
    /// - Parameter name: the name of the database.
    static func sentence(_ text: String, of name: String, because error: any Error) -> String {
        guard let error = error as? StorageError else { return text }
        if error.code == .detached { return detachment(of: name) }
        if error.isOfDamage { return "\(text): \(damage(of: name, error)); it has to be restored from a backup" }
        return error.reason.map { "\(text): \($0)" } ?? text
    }
}

extension Database {
    /// The message to clients when the database cannot be read or written.
    func unusable(because error: any Error) -> String {
        Consequence.sentence("the server could not read or write its database", of: name, because: error)
    }
}

extension StorageError {
    fileprivate var reason: String? {
        switch code {
        case .vanished: "its files were removed, renamed or replaced; they have to be put back"
        case .newerFormat: "it was written by a newer version"
        case .foreignFile: "the file of that name is no database of a server"
        case .locked: "another server has it open"
        case .tooManyFiles: "it has as many files open as its system allows"
        case .full: "no space is left on its disk"
        case .readOnly: "it may not be written"
        case .io: "its disk reported an error"
        case .busy where isSilence, .outcomeUnknown: "the journal that it shares with other servers does not answer"
        case .journal:
            "the journal that it shares with other servers does not have what it has, so it makes its copy of the database "
                + "anew"
        case .logTrimmed: "the journal that it shares with other servers no longer has what it lacks"
        default: nil
        }
    }
}
