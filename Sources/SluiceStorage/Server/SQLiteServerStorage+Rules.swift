internal import SluiceModel
internal import SluiceWire

/// The rules of a database: the last versions whole, and of older ones what tells them apart.
extension SQLiteServerStorage {
    /// How many versions are kept whole, with the present one.
    package static let ruleVersionCountMax = 100
    /// Of how many versions before those it is known whether a file is the same.
    package static let ruleDigestCountMax = 10_000

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

    package func rules(ofVersion version: Int, are bytes: [UInt8]) throws -> Bool {
        if let known = try rules(ofVersion: version) { return known == bytes }
        return try MetaTable(connection).blob("rules.\(version).digest") == SHA256.digest(bytes)
    }

    package func rulesOrigin(ofVersion version: Int) throws -> RulesOrigin? {
        guard let bytes = try MetaTable(connection).blob("rules.\(version).origin") else { return nil }
        return try StoredBlob.decode(bytes, file: connection.name, what: "the origin of rules") {
            reader throws(WireError) in try RulesOrigin(from: &reader)
        }
    }

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

    package var heededRules: [UInt8]? {
        get throws { try OwnTable(connection).blob("rules") }
    }

    package func noteHeededRules(_ digest: [UInt8]) throws {
        try requireTransaction()
        try OwnTable(connection).set("rules", digest)
    }
}
