/// Where a server has its users: their passwords' hashes, their logins, and what was revoked. Any thread may use it, and
/// each call blocks until it is done.
///
/// There are two: ``UserFile`` for one server, and the tables of a cluster, which all its nodes share. Both compare names
/// byte by byte.
package protocol UserStore: Sendable {
    /// Reads. What several calls in `body` read may be of several moments.
    ///
    /// - Throws: ``StorageError`` when the store cannot be read at the moment; what `body` throws.
    func read<Result: Sendable>(_ body: (any UserRecords) throws -> Result) throws -> Result

    /// Reads and writes as one, after every other write about the same user and before the next: nobody sees a part, and
    /// nothing is left of it if it throws.
    ///
    /// - Parameters:
    ///   - name: the user whom it is about.
    ///   - body: may be called again if nothing is left of the first call.
    /// - Throws: ``StorageError`` when the store cannot be written at the moment; what `body` throws.
    func write<Result: Sendable>(about name: String, _ body: (any UserRecords) throws -> Result) throws -> Result

    /// Begins to call back, on a thread of the store's own, soon after another process has changed what open sessions
    /// depend on, and when that may have happened unseen. It ends with ``close()``.
    func watch(_ didChange: @escaping @Sendable () -> Void)

    /// Ends the watch and the use of the store.
    func close()

    /// Why the users can be read and not changed; nil if nothing is known to be in the way.
    var obstacle: StorageError? { get }
}

extension UserStore {
    package var obstacle: StorageError? { nil }
}

/// The records of a ``UserStore`` within one call to it. Times are in microseconds since 1970.
package protocol UserRecords {
    // MARK: Users

    func user(_ name: String) throws -> UserRecord?

    /// All users by the bytes of their names, and how many logins each has.
    func users() throws -> [(user: UserRecord, loginCount: Int)]

    /// Adds a user.
    ///
    /// - Returns: false if there is one of that name.
    func add(_ user: UserRecord) throws -> Bool

    /// Gives a user another password, and ends all logins of the old one.
    ///
    /// - Returns: false if there is no such user.
    func setPassword(_ password: String, of name: String) throws -> Bool

    /// Stores the same password with other parameters. It ends no login.
    func replaceHash(_ password: String, of name: String, generation: Int64) throws

    /// Sets what rules may know about a user; a JSON object.
    ///
    /// - Returns: false if there is no such user.
    func setClaims(_ claims: String, of name: String) throws -> Bool

    /// Removes a user and the user's logins.
    ///
    /// - Returns: false if there is no such user.
    func remove(_ name: String, now: Int64) throws -> Bool

    // MARK: Revocation

    /// Ends all logins of a user, also of one that only tokens of an issuer know.
    func revoke(_ name: String, now: Int64) throws

    /// Undoes the revocations of a user: tokens of an issuer are taken again, whenever they were made. Logins that a
    /// revocation has ended stay ended.
    ///
    /// - Returns: false if the user is not revoked.
    func restore(_ name: String) throws -> Bool

    /// Notes that a token of a user was accepted that is dated ahead of the server's clock: a revocation ends what is
    /// dated up to then.
    ///
    /// - Parameter time: the token's date.
    func noteLead(of name: String, until time: Int64, now: Int64) throws

    /// For each user, the date up to which tokens are over: that of the last revocation, or a later one that an accepted
    /// token had. It ascends with each revocation. nil for a user who was never revoked.
    func revocations(of names: [String]) throws -> [Int64?]

    // MARK: Locks

    /// Notes that an account is locked. What is known about others whose locks are over is forgotten.
    func note(_ lock: UserLock, now: Int64) throws

    /// The accounts that were locked, by the bytes of their names; the locks of some may be over.
    func locks() throws -> [UserLock]

    /// Unlocks an account.
    ///
    /// - Returns: false if it was not locked.
    func unlock(_ name: String) throws -> Bool

    // MARK: Logins

    /// Adds a login.
    ///
    /// - Returns: its id, which no login had before.
    func addLogin(of name: String, hash: [UInt8], now: Int64) throws -> Int64

    /// The login that has a token with this hash, whichever of the three it is; nil if there is none, or no user of it.
    func login(hash: [UInt8]) throws -> KnownLogin?

    /// Logins by their ids; nil for each that is gone, or whose user is.
    func logins(_ ids: [Int64]) throws -> [KnownLogin?]

    /// Stores the tokens and times of a login.
    func update(_ login: LoginRecord) throws

    /// Notes that logins were in use at a time.
    func noteUse(of ids: [Int64], at time: Int64) throws

    func removeLogin(id: Int64) throws

    // MARK: All of it

    /// All logins, also those of users who are gone.
    func allLogins() throws -> [LoginRecord]

    /// All dates of revocations and of tokens that were dated ahead, see ``revocations(of:)`` and
    /// ``noteLead(of:until:now:)``.
    func allDates() throws -> [UserDates]

    /// Notes dates that come from another store. The later ones count.
    func note(_ dates: UserDates) throws

    /// Removes logins that were not used since a time.
    func removeLogins(unusedSince time: Int64) throws
}

extension UserRecords {
    /// The one of ``revocations(of:)`` of a single user.
    package func revocation(of name: String) throws -> Int64? { try revocations(of: [name])[0] }
}
