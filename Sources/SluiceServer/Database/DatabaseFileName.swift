/// The rule for the names of database files.
enum DatabaseFileName {
    /// The name of a database's file in the data folder.
    static func of(_ database: String) -> String { database + suffix }

    static let suffix = ".sluicedb"
}
