internal import Dispatch
internal import SluiceJSON
package import SluiceModel
package import SluiceStorage
internal import Synchronization

/// Checks the passwords and session tokens of built-in users, and who was revoked, against the file of users.
package final class UserDirectory: Sendable {
    /// How long a session token holds without being used, in microseconds.
    package static let idleTime: Int64 = 30 * 86_400_000_000
    /// How old a session token is when another one follows it.
    static let rotationTime: Int64 = 7 * 86_400_000_000
    /// How exactly the last use of a token is known.
    private static let useTime: Int64 = 86_400_000_000
    /// How often the file is looked at for what other processes have changed.
    private static let watchTime = DispatchTimeInterval.milliseconds(250)

    private let file: Mutex<UserFile>
    private let throttle: Mutex<PasswordThrottle>
    private let workers: PasswordWorkers
    private let parameters: PasswordHash.Parameters
    private let now: @Sendable () -> Timestamp
    /// For what reads the file, so that no event loop does.
    private let queue = DispatchQueue(label: "sluice.users")
    /// What the password of an unknown user is compared with, so that both take the same time.
    private let nobody: PasswordHash?
    private let isClosed = Mutex(false)

    /// - Parameters:
    ///   - path: the file, made if it is missing; nil for memory.
    ///   - parameters: how new passwords are hashed.
    /// - Throws: `StorageError` when the file cannot be opened.
    package init(
        _ path: String?, parameters: PasswordHash.Parameters = .standard,
        throttle: PasswordThrottle = PasswordThrottle(), workers: PasswordWorkers = PasswordWorkers(),
        now: @escaping @Sendable () -> Timestamp
    ) throws {
        file = Mutex(try UserFile(path))
        self.throttle = Mutex(throttle)
        self.workers = workers
        self.parameters = parameters
        self.now = now
        nobody = PasswordHash(
            "$scrypt$\(parameters.costExponent)$\(parameters.blockSize)$\(parameters.parallelism)$"
                + "AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
    }

    /// Reads and writes the file, on the caller's thread.
    package func access<Result: Sendable>(_ body: (UserFile) throws -> Result) throws -> Result {
        try file.withLock { try body($0) }
    }

    package func close() {
        isClosed.withLock { $0 = true }
        file.withLock { $0.close() }
    }

    // MARK: Passwords

    /// Logs a user in by password.
    ///
    /// - Parameters:
    ///   - address: where the try comes from, for the throttle.
    ///   - wait: whether the client still waits. A try for which nobody does is not made.
    ///   - completion: called once, on any thread.
    package func logIn(
        name: String, password: [UInt8], from address: String, _ wait: LoginWait = LoginWait(),
        completion: @escaping @Sendable (Result<Admission, LoginRefusal>) -> Void
    ) {
        // Names are of any length as they come; those of users are not.
        let account = "user " + (name.utf8.count <= UserName.byteCountMax ? name : "")
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
                user = UserName.problem(with: name) == nil ? try file.withLock { try $0.user(name) } : nil
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
                                guard let user, let hash, let admission = try admit(user, hash, password) else {
                                    return completion(.failure(.refused))
                                }
                                throttle.withLock { $0.succeeded(account: account, address: keys[1]) }
                                completion(.success(admission))
                            } catch { later(.unavailable) }
                        case .wrong: completion(.failure(.refused))
                        case .displaced, .abandoned: later(.busy)
                        }
                    }))
        }
    }

    /// Admits a user whose password is right.
    ///
    /// - Returns: nil if the user was removed or changed meanwhile.
    private func admit(_ user: UserRecord, _ hash: PasswordHash, _ password: [UInt8]) throws -> Admission? {
        let name = user.name
        let renewed = hash.parameters == parameters ? nil : PasswordHash(of: password, parameters: parameters)
        let token = SessionToken()
        let time = now().microseconds
        let login = try file.withLock { file -> Int64? in
            try file.write {
                // It may have been removed or changed during the computation.
                guard try file.user(name)?.generation == user.generation else { return nil }
                if let renewed { try file.replaceHash(renewed.text, of: name, generation: user.generation) }
                try file.removeLogins(unusedSince: time - Self.idleTime)
                return try file.addLogin(of: name, hash: token.hash, now: time)
            }
        }
        guard let login else { return nil }
        return Admission(identity(of: user, .password, login), sessionToken: token.text)
    }

    private func identity(of user: UserRecord, _ method: LoginIdentity.Method, _ login: Int64) -> LoginIdentity {
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
            let result = Result { try file.withLock { file in try file.write { try admit(hash, file) } } }
            switch result {
            case .success(let admission?): completion(.success(admission))
            case .success(nil): completion(.failure(.refused))
            case .failure: completion(.failure(.later(milliseconds: 1_000, reason: .unavailable)))
            }
        }
    }

    private func admit(_ hash: [UInt8], _ file: UserFile) throws -> Admission? {
        let time = now().microseconds
        guard var login = try file.login(hash: hash) else { return nil }
        guard let user = try file.user(login.userName), time - login.usedAt < Self.idleTime else {
            try file.removeLogin(id: login.id)
            return nil
        }
        if let previous = login.previousHash, Secrets.equal(previous, hash) {
            // The token that followed this one was used, so somebody has both: perhaps a thief.
            try file.removeLogin(id: login.id)
            return nil
        }
        var token: SessionToken?
        if let next = login.nextHash, Secrets.equal(next, hash) {
            login.previousHash = login.hash
            login.hash = next
            login.nextHash = nil
            login.madeAt = time
        } else if time - login.madeAt >= Self.rotationTime {
            // The client may never receive what follows, so this one holds until that is used.
            let next = SessionToken()
            login.nextHash = next.hash
            token = next
        }
        login.usedAt = time
        try file.update(login)
        return Admission(identity(of: user, .session, login.id), sessionToken: token?.text)
    }

    // MARK: Revocation

    /// Lets in an identity that is not of a built-in user, unless its user was revoked after its proof was made, or may
    /// have been: the clock of who has made it may be ahead.
    ///
    /// - Parameter completion: called once, on another thread.
    func admit(
        _ identity: LoginIdentity, completion: @escaping @Sendable (Result<Admission, LoginRefusal>) -> Void
    ) {
        queue.async { [self] in
            let result = Result { try file.withLock { file in try admitted(identity, file) } }
            switch result {
            case .success(let identity?): completion(.success(Admission(identity)))
            case .success(nil): completion(.failure(.refused))
            case .failure: completion(.failure(.later(milliseconds: 1_000, reason: .unavailable)))
            }
        }
    }

    private func admitted(_ identity: LoginIdentity, _ file: UserFile) throws -> LoginIdentity? {
        guard let name = identity.userID else { return identity }
        var identity = identity
        identity.generation = try file.revocation(of: name)
        let (time, madeAt) = (now().microseconds, identity.issuedAt?.microseconds)
        if let revokedAt = identity.generation {
            guard let madeAt, madeAt > revokedAt || identity.method == .custom && madeAt == revokedAt else {
                return nil
            }
            // Of a token from the future nobody knows when it was made.
            guard madeAt <= time || madeAt - TokenRules.leadMax > revokedAt else { return nil }
        }
        // A revocation that comes later must end this token too, also when its time has come.
        if identity.method == .token, let madeAt, madeAt > time {
            try file.noteLead(of: name, until: madeAt, now: time)
        }
        return identity
    }

    /// What has become of an identity that was proved earlier. It notes that the identity's session token is in use.
    ///
    /// Whether the user was revoked since is not a question of clocks: revocations are counted.
    package func standing(of identity: LoginIdentity) throws -> LoginStanding {
        try file.withLock { file in
            guard let id = identity.loginID else {
                let revokedAt = try identity.userID.flatMap { try file.revocation(of: $0) }
                return revokedAt == identity.generation ? .unchanged : .over
            }
            guard var login = try file.login(id: id), let user = try file.user(login.userName),
                user.generation == identity.generation
            else { return .over }
            let time = now().microseconds
            if time - login.usedAt >= Self.useTime {
                login.usedAt = time
                try file.update(login)
            }
            let claims = Self.claims(of: user)
            return claims == identity.claims ? .unchanged : .changed(claims: claims)
        }
    }

    /// Ends all logins of a user.
    package func revoke(_ name: String) throws { try file.withLock { try $0.revoke(name, now: now().microseconds) } }

    /// Ends the login that a session token proves.
    package func revoke(token: String) throws {
        guard let hash = SessionToken.hash(of: Array(token.utf8)) else { return }
        try file.withLock { file in
            if let login = try file.login(hash: hash) { try file.removeLogin(id: login.id) }
        }
    }

    /// Calls back, on a thread of its own, soon after another process has changed the file, until ``close()``.
    package func watch(_ didChange: @escaping @Sendable () -> Void) {
        queue.asyncAfter(deadline: .now() + Self.watchTime) { [weak self] in
            guard let self, !isClosed.withLock({ $0 }) else { return }
            if (try? file.withLock { try $0.hasChanged() }) ?? false { didChange() }
            watch(didChange)
        }
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
