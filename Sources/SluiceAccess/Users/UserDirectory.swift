internal import Dispatch
internal import SluiceJSON
package import SluiceModel
package import SluiceStorage
internal import Synchronization

/// Checks the passwords and session tokens of built-in users, and who was revoked, against the store of users.
package final class UserDirectory: Sendable {
    /// How long a session token holds without being used, in microseconds.
    package static let idleTime: Int64 = 30 * 86_400_000_000
    /// How old a session token is when another one follows it.
    static let rotationTime: Int64 = 7 * 86_400_000_000
    /// How exactly the last use of a token is known.
    private static let useTime: Int64 = 86_400_000_000

    let store: any UserStore
    let throttle: Mutex<PasswordThrottle>
    private let workers: PasswordWorkers
    private let parameters: PasswordHash.Parameters
    let now: @Sendable () -> Timestamp
    /// For what reads the store, so that no event loop does.
    let queue = DispatchQueue(label: "sluice.users")
    /// What the password of an unknown user is compared with, so that both take the same time.
    private let nobody: PasswordHash?
    /// Called when a login has ended that sessions may still use.
    private let didChange = Mutex<@Sendable () -> Void>({})
    /// The users whose accounts this process has noted as locked.
    let locked = Mutex<Set<String>>([])

    /// - Parameters:
    ///   - store: closed by ``close()``.
    ///   - parameters: how new passwords are hashed.
    package init(
        _ store: any UserStore, parameters: PasswordHash.Parameters = .standard,
        throttle: PasswordThrottle = PasswordThrottle(), workers: PasswordWorkers = PasswordWorkers(),
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.store = store
        self.throttle = Mutex(throttle)
        self.workers = workers
        self.parameters = parameters
        self.now = now
        nobody = PasswordHash(
            "$scrypt$\(parameters.costExponent)$\(parameters.blockSize)$\(parameters.parallelism)$"
                + "AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
    }

    /// Why users can be read and not changed; nil if nothing is known to be in the way.
    package var obstacle: StorageError? { store.obstacle }

    package func close() {
        store.close()
        didChange.withLock { $0 = {} }
    }

    /// Calls back, on any thread, soon after another process has changed the users, or a stolen token has ended a login,
    /// until ``close()``.
    package func watch(_ didChange: @escaping @Sendable () -> Void) {
        self.didChange.withLock { $0 = didChange }
        store.watch { [weak self] in
            self?.releaseUnlocked()
            didChange()
        }
    }

    // MARK: Passwords

    /// Logs a user in by password.
    ///
    /// - Parameters:
    ///   - address: where the try comes from, for the throttle.
    ///   - wait: whether the client still waits. A try for which nobody does is not made.
    ///   - wantsToken: whether the client wants a session token. Without one nothing of the login is stored.
    ///   - completion: called once, on any thread.
    package func logIn(
        name: String, password: [UInt8], from address: String, _ wait: LoginWait = LoginWait(),
        wantsToken: Bool = true,
        completion: @escaping @Sendable (Result<Admission, LoginRefusal>) -> Void
    ) {
        // Names are of any length as they come; those of users are not.
        let account = Self.account(name.utf8.count <= UserName.byteCountMax ? name : "")
        let keys = [account, "address " + address]
        if let wait = throttle.withLock({ $0.begin(keys, now: now()) }) {
            return completion(.failure(.later(milliseconds: (wait + 999) / 1_000, reason: .tooManyTries)))
        }
        let later: @Sendable (LoginRefusal.Reason) -> Void = { [self] reason in
            throttle.withLock { $0.takeBack(keys) }
            completion(.failure(.later(milliseconds: 1_000, reason: reason)))
        }
        queue.async { [self] in
            let user: UserRecord?
            do {
                user = UserName.problem(with: name) == nil ? try store.read { try $0.user(name) } : nil
            } catch { return later(.unavailable) }
            let hash = user.flatMap { PasswordHash($0.password) }
            workers.add(
                PasswordTry(
                    isUser: user != nil, wait: wait,
                    // That of nobody takes as long, and no password is right for it.
                    compare: { [nobody] in (hash ?? nobody)?.matches(password) ?? false && hash != nil },
                    answer: { [self] answer in
                        switch answer {
                        case .right:
                            do {
                                guard let user, let hash,
                                    let admission = try admit(user, hash, password, wantsToken: wantsToken)
                                else { return completion(.failure(.refused)) }
                                throttle.withLock { $0.succeeded(account: account, address: keys[1]) }
                                forgetLock(of: name)
                                completion(.success(admission))
                            } catch { later(.unavailable) }
                        case .wrong:
                            if user != nil { noteLock(of: name) }
                            completion(.failure(.refused))
                        case .displaced, .abandoned: later(.busy)
                        }
                    }))
        }
    }

    /// Admits a user whose password is right.
    ///
    /// - Returns: nil if the user was removed or changed meanwhile.
    private func admit(
        _ user: UserRecord, _ hash: PasswordHash, _ password: [UInt8], wantsToken: Bool
    ) throws -> Admission? {
        let name = user.name
        let renewed = hash.parameters == parameters ? nil : PasswordHash(of: password, parameters: parameters)
        let token = wantsToken ? SessionToken() : nil
        let time = now().microseconds
        guard token != nil || renewed != nil else { return try admitWithoutToken(user) }
        let login: Int64?
        do {
            login = try store.write(about: name) { records -> Int64? in
                // It may have been removed or changed during the computation.
                guard try records.user(name)?.generation == user.generation else { return nil }
                if let renewed { try records.replaceHash(renewed.text, of: name, generation: user.generation) }
                guard let token else { return nil }
                try records.removeLogins(unusedSince: time - Self.idleTime)
                return try records.addLogin(of: name, hash: token.hash, now: time)
            }
        } catch let error as StorageError where error.preventsWriting {
            return try admitWithoutToken(user)
        }
        guard let token else { return try admitWithoutToken(user) }
        guard let login else { return nil }
        return Admission(identity(of: user, .password, login), sessionToken: token.text)
    }

    /// Admits a user without a session token, who shows the password again the next time.
    private func admitWithoutToken(_ user: UserRecord) throws -> Admission? {
        // It may have been removed or changed during the computation.
        guard try store.read({ try $0.user(user.name) })?.generation == user.generation else { return nil }
        return Admission(identity(of: user, .password, nil))
    }

    private func identity(of user: UserRecord, _ method: LoginIdentity.Method, _ login: Int64?) -> LoginIdentity {
        LoginIdentity(
            userID: user.name, method: method, claims: Self.claims(of: user), issuedAt: now(), loginID: login,
            generation: user.generation)
    }

    private static func claims(of user: UserRecord) -> JSONValue {
        (try? JSONParser.parse(user.claims)) ?? .object([])
    }

    // MARK: Session tokens

    /// Logs a user in by session token.
    ///
    /// - Parameter completion: called once, on another thread.
    package func logIn(
        token: [UInt8], completion: @escaping @Sendable (Result<Admission, LoginRefusal>) -> Void
    ) {
        guard let hash = SessionToken.hash(of: token) else { return completion(.failure(.refused)) }
        queue.async { [self] in
            do {
                completion(try admit(hash).map { .success($0) } ?? .failure(.refused))
            } catch { completion(.failure(.later(milliseconds: 1_000, reason: .unavailable))) }
        }
    }

    /// What becomes of a login whose token was presented.
    private enum Presented {
        /// Nothing has to be stored.
        case holds
        /// The login is to be stored so, and the client gets another token, perhaps.
        case changes(LoginRecord, SessionToken?)
        /// The login is over, and why.
        case over(isStolen: Bool)
    }

    private func admit(_ hash: [UInt8]) throws -> Admission? {
        let time = now().microseconds
        guard let known = try store.read({ try $0.login(hash: hash) }) else { return nil }
        // A token that was used today is the case of every day, and writes nothing.
        if case .holds = Self.presented(hash, known.login, now: time) {
            return Admission(identity(of: known.user, .session, known.login.id))
        }
        do {
            let (admission, isStolen) = try store.write(about: known.user.name) { records -> (Admission?, Bool) in
                guard let known = try records.login(hash: hash) else { return (nil, false) }
                let identity = identity(of: known.user, .session, known.login.id)
                switch Self.presented(hash, known.login, now: time) {
                case .holds: return (Admission(identity), false)
                case .changes(let login, let token):
                    try records.update(login)
                    return (Admission(identity, sessionToken: token?.text), false)
                case .over(let isStolen):
                    try records.removeLogin(id: known.login.id)
                    return (nil, isStolen)
                }
            }
            if isStolen { didChange.withLock { $0 }() }
            return admission
        } catch let error as StorageError where error.preventsWriting {
            // The token holds as it is, and is followed by another one once that can be stored.
            guard case .changes = Self.presented(hash, known.login, now: time) else { return nil }
            return Admission(identity(of: known.user, .session, known.login.id))
        }
    }

    private static func presented(_ hash: [UInt8], _ login: LoginRecord, now time: Int64) -> Presented {
        guard time - login.usedAt < idleTime else { return .over(isStolen: false) }
        // The token that followed this one was used, so somebody has both: perhaps a thief.
        if let previous = login.previousHash, Secrets.equal(previous, hash) { return .over(isStolen: true) }
        var changed = login
        changed.usedAt = time
        if let next = login.nextHash, Secrets.equal(next, hash) {
            changed.previousHash = login.hash
            changed.hash = next
            changed.nextHash = nil
            changed.madeAt = time
            return .changes(changed, nil)
        }
        if time - login.madeAt >= rotationTime {
            // The client may never receive what follows, so this one holds until that is used.
            let next = SessionToken()
            changed.nextHash = next.hash
            return .changes(changed, next)
        }
        return time - login.usedAt < useTime ? .holds : .changes(changed, nil)
    }

    // MARK: Revocation

    /// Lets in an identity that is not of a built-in user, unless its user was revoked after its proof was made, or may
    /// have been: the clock of who has made it may be ahead.
    ///
    /// - Parameter completion: called once, on another thread.
    package func admit(
        _ identity: LoginIdentity, completion: @escaping @Sendable (Result<Admission, LoginRefusal>) -> Void
    ) {
        queue.async { [self] in
            do {
                completion(try admitted(identity).map { .success(Admission($0)) } ?? .failure(.refused))
            } catch { completion(.failure(.later(milliseconds: 1_000, reason: .unavailable))) }
        }
    }

    private func admitted(_ identity: LoginIdentity) throws -> LoginIdentity? {
        guard let name = identity.userID else { return identity }
        let time = now().microseconds
        // A revocation that comes later must end this token too, also when its time has come.
        if identity.method == .token, let madeAt = identity.issuedAt?.microseconds, madeAt > time {
            return try store.write(about: name) { records in
                let admitted = Self.admitted(identity, revokedAt: try records.revocation(of: name), now: time)
                if admitted != nil { try records.noteLead(of: name, until: madeAt, now: time) }
                return admitted
            }
        }
        return Self.admitted(identity, revokedAt: try store.read { try $0.revocation(of: name) }, now: time)
    }

    private static func admitted(_ identity: LoginIdentity, revokedAt: Int64?, now time: Int64) -> LoginIdentity? {
        var identity = identity
        identity.generation = revokedAt
        guard let revokedAt else { return identity }
        guard let madeAt = identity.issuedAt?.microseconds,
            madeAt > revokedAt || identity.method == .custom && madeAt == revokedAt
        else { return nil }
        // Of a token from the future nobody knows when it was made.
        guard madeAt <= time || madeAt - TokenRules.leadMax > revokedAt else { return nil }
        return identity
    }

    /// What has become of identities that were proved earlier, in their order. It notes that their session tokens are in
    /// use.
    ///
    /// Whether a user was revoked since is not a question of clocks: revocations are counted.
    ///
    /// - Throws: `StorageError` when the store cannot be read at the moment.
    package func standings(of identities: [LoginIdentity]) throws -> [LoginStanding] {
        let ids = identities.compactMap(\.loginID)
        let names = identities.compactMap { $0.loginID == nil ? $0.userID : nil }
        let time = now().microseconds
        let withoutLogin = identities.filter { $0.loginID == nil && $0.method == .password }.compactMap(\.userID)
        let (found, revoked, users) = try store.read { records in
            let logins = ids.isEmpty ? [] : try records.logins(ids)
            let used = logins.compactMap { $0 }.filter { time - $0.login.usedAt >= Self.useTime }.map(\.login.id)
            if !used.isEmpty { try Self.noteUse(of: used, at: time, in: records) }
            let users = try Dictionary(withoutLogin.map { ($0, try records.user($0)) }) { $1 }
            return (logins, names.isEmpty ? [] : try records.revocations(of: names), users)
        }
        var (logins, revocations) = (found.makeIterator(), revoked.makeIterator())
        return identities.map { identity in
            guard identity.loginID == nil else { return Self.standing(of: identity, (logins.next() ?? nil)?.user) }
            let revokedAt = identity.userID == nil ? nil : revocations.next() ?? nil
            if identity.method == .password, let name = identity.userID {
                return Self.standing(of: identity, users[name] ?? nil)
            }
            // A revocation that was undone ends nothing.
            return revokedAt == nil || revokedAt == identity.generation ? .unchanged : .over
        }
    }

    /// Notes that logins are in use, unless nothing can be stored.
    private static func noteUse(of logins: [Int64], at time: Int64, in records: any UserRecords) throws {
        do { try records.noteUse(of: logins, at: time) } catch let error as StorageError where error.preventsWriting {}
    }

    private static func standing(of identity: LoginIdentity, _ user: UserRecord?) -> LoginStanding {
        guard let user, user.generation == identity.generation else { return .over }
        let claims = claims(of: user)
        return claims == identity.claims ? .unchanged : .changed(claims: claims)
    }

    /// Ends all logins of a user.
    package func revoke(_ name: String) throws {
        try store.write(about: name) { try $0.revoke(name, now: now().microseconds) }
    }

    /// Undoes the revocations of a user, see ``UserRecords/restore(_:)``.
    ///
    /// - Returns: false if the user is not revoked.
    package func restore(_ name: String) throws -> Bool { try store.write(about: name) { try $0.restore(name) } }

    /// Ends the login that a session token proves.
    ///
    /// - Returns: whose it was; nil if it is over.
    @discardableResult
    package func revoke(token: String) throws -> String? {
        guard let hash = SessionToken.hash(of: Array(token.utf8)),
            let known = try store.read({ try $0.login(hash: hash) })
        else { return nil }
        try store.write(about: known.user.name) { try $0.removeLogin(id: known.login.id) }
        return known.user.name
    }
}

/// What a user's name may be.
package enum UserName {
    package static let byteCountMax = 128

    /// What is wrong with a name; nil if nothing is.
    package static func problem(with name: String) -> String? {
        guard (1...byteCountMax).contains(name.utf8.count),
            name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ":") })
        else { return "a user's name has 1 to \(byteCountMax) bytes, without blanks, colons and control characters" }
        return nil
    }
}
