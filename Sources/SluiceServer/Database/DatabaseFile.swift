/// The rule for the names of database files.
enum DatabaseFile {
    /// The name of a database's file in the data folder.
    static func name(of database: String) -> String { database + suffix }

    static let suffix = ".sluicedb"
}
