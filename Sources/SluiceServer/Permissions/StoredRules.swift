internal import SluiceModel
internal import SluiceRules
internal import SluiceStorage

/// The versions of the rules that a database has, beside the file of rules that its server was started with.
///
/// It says which of the two were stored last, and stores others. Which rules hold is said by ``Permissions``.
final class StoredRules {
    private let database: Database
    private let audit: AuditNotes
    /// The name of this server process; nil for none.
    private let workerID: String?
    /// The rules that the server was started with; nil if it was started without.
    var ofServer: RulesFile?

    init(_ database: Database, _ audit: AuditNotes, workerID: String?, ofServer: RulesFile?) {
        self.database = database
        self.audit = audit
        self.workerID = workerID
        self.ofServer = ofServer
    }

    /// The rules that the database has; nil if it has none.
    ///
    /// Rules that this version cannot read let nobody do anything.
    func latest() -> AccessRules? {
        do {
            let version = try database.storage.rulesVersion
            guard version > 0, let bytes = try database.storage.rules(ofVersion: version) else { return nil }
            return AccessRules(try RulesFile(bytes))
        } catch {
            database.noteFailure("the rules could not be read; nobody may do anything", error)
            return .denial
        }
    }

    /// How the rules of the server's file stand to those that the database has.
    enum FileStanding {
        /// They are those that were stored last.
        case same
        /// They were said after those, and why.
        case news(String)
        /// Those were stored after them, and how that is known.
        case overtaken(String)
    }

    /// What cannot be read counts as stored later.
    func standing(of file: RulesFile) -> FileStanding {
        do {
            let last = try database.storage.rulesVersion
            let bytes = file.canonicalBytes
            guard last > 0 else { return .news("the database had none") }
            guard try !database.storage.rules(ofVersion: last, are: bytes) else { return .same }
            if let heeded = try database.storage.heededRules {
                return heeded == SHA256.digest(bytes)
                    ? .overtaken("the file is the same as when it was compared last")
                    : .news("the file has changed since it was compared last")
            }
            // Nothing is known of a file, such as where an older server had the database.
            let isFormer = try (1..<last).contains { try database.storage.rules(ofVersion: $0, are: bytes) }
            return isFormer
                ? .overtaken("the database had the file's rules before these") : .news("the database never had them")
        } catch {
            database.noteFailure("the versions of the rules could not be read", error)
            return .overtaken("its versions could not be read")
        }
    }

    /// Notes that the server's file was compared with what the database has.
    func heed(_ file: RulesFile) {
        let digest = SHA256.digest(file.canonicalBytes)
        do {
            guard try database.storage.heededRules != digest else { return }
            try database.transaction { try database.storage.noteHeededRules(digest) }
        } catch {
            // It is compared again when the database is opened again.
            database.noteFailure("it could not be stored which rules the server's file has", error, at: .warning)
        }
    }

    /// Logs which rules hold, and why. Of a database that is not made yet nothing is said: anybody may ask for one.
    func noteHolding(_ level: LogLevel, _ message: String, _ reason: String) {
        guard database.materialize == nil else { return }
        var details: [(String, String)] = []
        if let version = try? database.storage.rulesVersion, version > 0 {
            details.append(("version", "\(version)"))
            if let origin = try? database.storage.rulesOrigin(ofVersion: version) {
                details += [("since", origin.time.description), ("by", origin.author)]
            }
        }
        database.note(level, message, details + [("reason", reason)])
    }

    /// Where rules come from that this server stores.
    func origin(_ cause: RulesOrigin.Cause, at time: Timestamp, userID: String? = nil) -> RulesOrigin {
        RulesOrigin(cause, at: time, userID: userID, workerID: workerID)
    }

    /// Stores other rules, which do not hold yet. Those that are there already make no group, so this server must have
    /// followed the journal before (``Database/catchUpToRefuse()``).
    ///
    /// - Parameters:
    ///   - isHeeded: whether they are those of the server's file.
    ///   - check: called in the state after which they are stored; if it throws, they are not stored. Others may have
    ///     stored rules meanwhile, or taken the right to do so from whoever stores these.
    /// - Throws: what `check` throws; ``StorageError``.
    func store(
        _ file: RulesFile, from origin: RulesOrigin?, isHeeded: Bool = false, if check: () throws -> Void = {}
    ) throws -> (version: Int, isNew: Bool) {
        if let version = try storedVersion(of: file) { return (version, false) }
        try database.becomeDurable()
        // The file may have come with the rules that the server was started with.
        if let version = try storedVersion(of: file) { return (version, false) }
        if try database.storage.rulesVersion == 0, let ofServer, ofServer != file {
            // So that it is known later which of them came first.
            let first = origin.map { self.origin(.file, at: $0.time) }
            let isFirst = try database.transaction {
                guard try database.storage.rulesVersion == 0 else { return false }
                try check()
                try database.storage.setRules(ofServer, heeded: true, from: first)
                return true
            }
            if isFirst { audit.note(.rulesDeployed(version: 1, former: 0), user: User.serverID) }
        }
        return try database.transaction {
            if let version = try storedVersion(of: file) { return (version, false) }
            try check()
            try database.storage.setRules(file, heeded: isHeeded, from: origin)
            return (try database.storage.rulesVersion, true)
        }
    }

    /// The version of rules if they are those that were stored last.
    private func storedVersion(of file: RulesFile) throws -> Int? {
        let version = try database.storage.rulesVersion
        guard version > 0, try database.storage.rules(ofVersion: version) == file.canonicalBytes else { return nil }
        return version
    }
}

extension SQLiteServerStorage {
    /// Sets other rules, which hold from now on; within a transaction.
    ///
    /// - Parameter heeded: whether they are those of the server's file.
    func setRules(_ file: RulesFile, heeded: Bool, from origin: RulesOrigin?) throws {
        try setRules(file.canonicalBytes, from: origin)
        if heeded { try noteHeededRules(SHA256.digest(file.canonicalBytes)) }
    }
}

extension RulesOrigin {
    /// Who has stored the rules, in words.
    var author: String {
        let author =
            switch cause {
            case .file: "the server's file"
            case .reload: "the server's file, read again"
            case .client: userID.map { "user \($0)" } ?? "nobody in particular"
            }
        return workerID.map { "\(author), at \($0)" } ?? author
    }
}
