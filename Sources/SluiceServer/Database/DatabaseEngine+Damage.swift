internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// The consequences of a damaged file: a query that meets the damage ends for good, nothing more is written, and what
/// can be read is served.
extension DatabaseEngine {
    /// The code and action for an error of the store: damage is permanent, and any other error may pass.
    static func consequence(of error: any Error) -> (code: ErrorCode, action: ErrorAction) {
        guard let error = error as? StorageError else { return (.internalError, .retry) }
        return switch error.code {
        case .damaged, .notADatabase, .foreignFile: (.databaseDamaged, .stop)
        case .newerFormat: (.internalError, .stop)
        default: (.internalError, .retry)
        }
    }

    /// Which file is damaged, and how.
    static func damage(of name: String, _ error: StorageError) -> String {
        let reason = error.damage.isEmpty ? "" : " (\(error.damage))"
        return "the server's database file \(DatabaseOpener.fileName(name)) is damaged\(reason)"
    }

    /// Logs a failure and its reason. Damage is logged only once, however often it is met.
    func noteFailure(_ what: String, _ error: any Error, at level: LogLevel = .error) {
        if let error = error as? StorageError, error.isOfDamage {
            if storage.damage == nil, error.isProofOfDamage { storage.note(damage: error) }
            if !hasLoggedDamage {
                hasLoggedDamage = true
                log?(
                    .error, "the database is damaged; the server serves what can be read and takes no writes",
                    [("database", name), ("file", DatabaseOpener.fileName(name)), ("error", "\(error)")])
            }
            log?(.debug, what, [("database", name), ("error", "\(error)")])
        } else {
            log?(level, what, [("database", name), ("error", "\(error)")])
        }
        if (error as? StorageError)?.code == .tooManyFiles { onTooManyFiles() }
    }

    /// Ends a session because of an error of the store. If the database is damaged, the client must not try again by
    /// itself.
    func end(_ session: ServerSession, because error: any Error, _ message: String? = nil) {
        let (code, action) = Self.consequence(of: error)
        end(session, code, message ?? unusable(because: error), action: action)
    }

    /// Tells a client, once in a session, that its uploads are not accepted. The client keeps them, and the session
    /// continues.
    func refuseUploads(of session: ServerSession, because error: StorageError) {
        guard !session.isRefusedUploads else { return }
        session.isRefusedUploads = true
        let message =
            "\(Self.damage(of: name, error)) and takes no writes before it is restored; the client keeps what it "
            + "has written"
        let failure = ServerMessage.Failure(
            session: session.id.session, code: .databaseDamaged, message: message, action: .report)
        send([.error(failure)], to: session.id)
    }
}
