/// A built-in user of a server.
package struct UserRecord: Hashable, Sendable {
    /// The user's id.
    package var name: String
    /// The hash of the password, as text.
    package var password: String
    /// Rises with every new password and every revocation, so that older proofs can be told.
    package var generation: Int64
    /// What rules may know about the user: a JSON object.
    package var claims: String
    /// In microseconds since 1970.
    package var createdAt: Int64

    package init(name: String, password: String, generation: Int64 = 0, claims: String = "{}", createdAt: Int64) {
        self.name = name
        self.password = password
        self.generation = generation
        self.claims = claims
        self.createdAt = createdAt
    }
}

/// A login of a built-in user, which a session token proves.
package struct LoginRecord: Hashable, Sendable {
    package var id: Int64
    package var userName: String
    /// Hashes of tokens: the one in use, the one that is to follow it, and the one before.
    package var hash: [UInt8]
    package var nextHash: [UInt8]?
    package var previousHash: [UInt8]?
    /// When the token in use was made, and when it was last presented; in microseconds since 1970.
    package var madeAt: Int64
    package var usedAt: Int64

    package init(
        id: Int64, userName: String, hash: [UInt8], nextHash: [UInt8]?, previousHash: [UInt8]?, madeAt: Int64,
        usedAt: Int64
    ) {
        self.id = id
        self.userName = userName
        self.hash = hash
        self.nextHash = nextHash
        self.previousHash = previousHash
        self.madeAt = madeAt
        self.usedAt = usedAt
    }
}

/// What a store knows of the dates of a user's tokens, in microseconds since 1970.
package struct UserDates: Hashable, Sendable {
    package var name: String
    /// Up to when tokens are over; nil for a user who was never revoked.
    package var revokedUntil: Int64?
    /// The latest date of a token that was accepted ahead of the server's clock; nil for none.
    package var leadUntil: Int64?

    package init(name: String, revokedUntil: Int64?, leadUntil: Int64?) {
        self.name = name
        self.revokedUntil = revokedUntil
        self.leadUntil = leadUntil
    }
}

/// An account to which nobody gets for a while, since too many passwords were wrong.
package struct UserLock: Hashable, Sendable {
    package var name: String
    /// When the next password is looked at, in microseconds since 1970.
    package var until: Int64
    /// How many passwords were wrong.
    package var failureCount: Int

    package init(name: String, until: Int64, failureCount: Int) {
        self.name = name
        self.until = until
        self.failureCount = failureCount
    }
}

/// A login, and the user whose it is, as they are at one moment.
package struct KnownLogin: Hashable, Sendable {
    package var login: LoginRecord
    package var user: UserRecord

    package init(login: LoginRecord, user: UserRecord) {
        self.login = login
        self.user = user
    }
}
