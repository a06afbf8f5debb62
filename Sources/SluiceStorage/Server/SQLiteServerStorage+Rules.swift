internal import SluiceModel
internal import SluiceWire

/// The rules of a database: the last versions whole, and of older ones what tells them apart.
extension SQLiteServerStorage {
    /// How many versions are kept whole, with the present one.
    package static let ruleVersionCountMax = 100
    /// Of how many versions before those it is known whether a file is the same.
    package static let ruleDigestCountMax = 10_000

    /// How many times rules were set; 0 while there are none. The last of them hold.
    package var rulesVersion: Int {
        get throws {
            let version = Int(try MetaTable(connection).integer("rules") ?? 0)
            guard try version == 0 || rules(ofVersion: version) != nil else {
                throw StorageError.damaged(connection.name, "version \(version) of the rules is missing")
            }
            return version
        }
    }

    /// The version of the database at which the present rules were set; 0 if there are none, or if a server set them that
    /// did not note it.
    package var rulesSince: UInt64 {
        get throws { UInt64(try MetaTable(connection).integer("rules.since") ?? 0) }
    }

    /// The rules that were set as the `version`th, counted from 1; nil if there are none, or so many came after them that
    /// they are no longer kept.
    package func rules(ofVersion version: Int) throws -> [UInt8]? {
        try MetaTable(connection).blob("rules.\(version)")
    }

    /// Whether the `version`th rules were these, also where they are no longer kept.
    package func rules(ofVersion version: Int, are bytes: [UInt8]) throws -> Bool {
        if let known = try rules(ofVersion: version) { return known == bytes }
        return try MetaTable(connection).blob("rules.\(version).digest") == SHA256.digest(bytes)
    }

    /// Where the `version`th rules came from; nil if they are not kept, or are older than such notes.
    package func rulesOrigin(ofVersion version: Int) throws -> RulesOrigin? {
        guard let bytes = try MetaTable(connection).blob("rules.\(version).origin") else { return nil }
        return try StoredBlob.decode(bytes, file: connection.name, what: "the origin of rules") {
            reader throws(WireError) in try RulesOrigin(from: &reader)
        }
    }

    /// Sets other rules, which hold from now on. The last ones before them are kept.
    package func setRules(_ bytes: [UInt8], from origin: RulesOrigin?) throws {
        try perform(.rules(bytes, from: origin))
    }

    func storeRules(_ bytes: [UInt8], from origin: RulesOrigin?) throws {
        let meta = MetaTable(connection)
        let count = try rulesVersion + 1
        try meta.set("rules.\(count)", bytes)
        if let origin {
            var writer = ByteWriter()
            origin.encode(into: &writer)
            try meta.set("rules.\(count).origin", writer.bytes)
        }
        try meta.set("rules", Int64(count))
        try meta.set("rules.since", Int64(version))
        try dropRules(before: count - Self.ruleVersionCountMax + 1)
    }

    /// Keeps of the versions before one no more than their digests. Replicas do the same with the same journal.
    private func dropRules(before first: Int) throws {
        let meta = MetaTable(connection)
        var version = first - 1
        while version > 0, let bytes = try rules(ofVersion: version) {
            try meta.set("rules.\(version).digest", SHA256.digest(bytes))
            try meta.remove("rules.\(version)")
            try meta.remove("rules.\(version).origin")
            version -= 1
        }
        try meta.remove("rules.\(first - 1 - Self.ruleDigestCountMax).digest")
    }

    // MARK: What this file alone has

    /// SHA-256 of the rules of the server's file, as that was when it was compared with this database last; nil if it never
    /// was. It is no part of what the journal makes: each server has a file of its own.
    package var heededRules: [UInt8]? {
        get throws { try OwnTable(connection).blob("rules") }
    }

    /// Sets ``heededRules``, within a transaction.
    package func noteHeededRules(_ digest: [UInt8]) throws {
        try requireTransaction()
        try OwnTable(connection).set("rules", digest)
    }
}
