/// What a command that ends soon wants of its session, and a program that stays does not.
package struct SessionWishes: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// No session token for a password, so that the server keeps nothing of the login. Whoever connects again shows the
    /// password again.
    package static let noToken = SessionWishes(rawValue: 1 << 0)
    /// A database that is there already: a name without one is refused.
    package static let existingDatabase = SessionWishes(rawValue: 1 << 1)
    /// A database that is made if it is not there. Classes or rules come later.
    package static let newDatabase = SessionWishes(rawValue: 1 << 2)
}
