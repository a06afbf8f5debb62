/// What a user may do with an object, or with the objects of a class.
public struct Privileges: OptionSet, Hashable, Sendable {
    /// One bit for each privilege.
    public let rawValue: UInt8

    /// Makes a set from its bits.
    ///
    /// - Parameter rawValue: one bit for each privilege; others mean nothing.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// To see it.
    public static let read = Privileges(rawValue: 1 << 0)
    /// To make one.
    public static let create = Privileges(rawValue: 1 << 1)
    /// To change it.
    public static let update = Privileges(rawValue: 1 << 2)
    /// To delete it.
    public static let delete = Privileges(rawValue: 1 << 3)
}

extension Privileges: CustomStringConvertible {
    /// The names of the privileges, separated by comma and blank.
    public var description: String {
        let names: [(Privileges, String)] = [
            (.read, "read"), (.create, "create"), (.update, "update"), (.delete, "delete"),
        ]
        return isEmpty ? "none" : names.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
    }
}

/// What a user may do with a database as a whole.
public struct DatabasePrivileges: OptionSet, Hashable, Sendable {
    /// One bit for each privilege.
    public let rawValue: UInt8

    /// Makes a set from its bits.
    ///
    /// - Parameter rawValue: one bit for each privilege; others mean nothing.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// To add classes and properties.
    public static let schema = DatabasePrivileges(rawValue: 1 << 0)
    /// To read reports: status, queries and explanations.
    public static let reports = DatabasePrivileges(rawValue: 1 << 1)
    /// To read the rules, and to store others.
    public static let rules = DatabasePrivileges(rawValue: 1 << 2)
    /// To send ephemeral messages to other stores, and to receive theirs.
    public static let messages = DatabasePrivileges(rawValue: 1 << 3)
    /// To run consumers and queues.
    public static let jobs = DatabasePrivileges(rawValue: 1 << 4)
}
