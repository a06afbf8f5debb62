internal import SluiceModel

/// The rules of a database, all versions of them.
extension SQLiteServerStorage {
    package var rulesVersion: Int {
        get throws {
            let version = Int(try MetaTable(connection).integer("rules") ?? 0)
            guard try version == 0 || rules(ofVersion: version) != nil else {
                throw StorageError.damaged(connection.name, "version \(version) of the rules is missing")
            }
            return version
        }
    }

    package var rulesSince: UInt64 {
        get throws { UInt64(try MetaTable(connection).integer("rules.since") ?? 0) }
    }

    package func rules(ofVersion version: Int) throws -> [UInt8]? {
        try MetaTable(connection).blob("rules.\(version)")
    }

    package func setRules(_ bytes: [UInt8]) throws { try perform(.rules(bytes)) }

    func storeRules(_ bytes: [UInt8]) throws {
        let meta = MetaTable(connection)
        let count = try rulesVersion + 1
        try meta.set("rules.\(count)", bytes)
        try meta.set("rules", Int64(count))
        try meta.set("rules.since", Int64(version))
    }
}
