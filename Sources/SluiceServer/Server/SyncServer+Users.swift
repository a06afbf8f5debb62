internal import SluiceAccess

extension SyncServer {
    /// Undoes the revocations of a user: tokens that an issuer has made before are taken again. Logins that were ended
    /// stay ended. Blocks until it is stored.
    ///
    /// - Parameter user: the user's id.
    /// - Returns: false if the user is not revoked.
    /// - Throws: ``ServerError`` when the server is for development, or when the users cannot be changed at the moment.
    @discardableResult
    public func restore(user: String) throws -> Bool {
        var wasRevoked = false
        try change { wasRevoked = try $0.restore(user) }
        if wasRevoked { audit?.note(.userChanged(.restored, user: user), user: User.serverID) }
        return wasRevoked
    }

    /// Takes the password of a user again at once, after too many wrong ones. Blocks until it is stored.
    ///
    /// - Parameter user: the user's id.
    /// - Returns: false if the account was not locked.
    /// - Throws: ``ServerError`` when the server is for development, or when the users cannot be changed at the moment.
    @discardableResult
    public func unlock(user: String) throws -> Bool {
        var wasLocked = false
        try change { wasLocked = try $0.unlock(user) }
        if wasLocked { audit?.note(.userChanged(.unlocked, user: user), user: User.serverID) }
        return wasLocked
    }

    /// Begins with another file of the audit log, after another program has renamed the one that there was; see
    /// ``AuditReceiver/reopen()``.
    public func reopenAuditLog() { audit?.reopen() }
}
