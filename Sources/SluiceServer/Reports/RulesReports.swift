internal import SluiceJSON
internal import SluiceModel
internal import SluiceRules
internal import SluiceStorage
internal import SluiceWire

/// Answers questions about the rules that a database has and had. It only reads.
struct RulesReports {
    let database: Database
    /// The rules that hold, which may not be stored yet; nil if there are none.
    let rules: AccessRules?

    private var storage: SQLiteServerStorage { database.storage }

    /// The rules that hold; those of `version`; or with `history` the versions that are kept.
    func answer(_ argument: JSONValue) throws -> JSONText {
        let last = try storage.rulesVersion
        if argument["history"] == .bool(true) { return try history(last) }
        guard let asked = argument["version"] else { return report(last, rules?.file.canonicalBytes ?? []) }
        guard case .integer(let number) = asked, let version = Int(exactly: number) else {
            throw RequestRejection(code: .invalidQuery, message: "a version is a whole number")
        }
        guard let bytes = try storage.rules(ofVersion: version) else {
            let kept = try self.kept(last)
            throw RequestRejection(
                code: .unknownName,
                message: "version \(version) of the rules is not kept; "
                    + (kept.isEmpty ? "there are none" : "the database has versions \(kept.lowerBound) to \(last)"))
        }
        return report(version, bytes)
    }

    private func report(_ version: Int, _ bytes: [UInt8]) -> JSONText {
        .object([("version", .number(UInt64(version))), ("file", .string(String(decoding: bytes, as: UTF8.self)))])
    }

    /// The versions that are kept.
    private func kept(_ last: Int) throws -> Range<Int> {
        var first = last + 1
        while first > 1, try storage.rules(ofVersion: first - 1) != nil { first -= 1 }
        return first..<last + 1
    }

    private func history(_ last: Int) throws -> JSONText {
        // By digest, so that no more than one file is in memory.
        var first: [[UInt8]: Int] = [:]
        var versions: [JSONText] = []
        for version in try kept(last) {
            let bytes = try storage.rules(ofVersion: version) ?? []
            let digest = SHA256.digest(bytes)
            let origin = try storage.rulesOrigin(ofVersion: version)
            func text(_ value: String?) -> JSONText { value.map { .string($0) } ?? .null }
            versions.append(
                .object([
                    ("version", .number(UInt64(version))), ("bytes", .number(UInt64(bytes.count))),
                    ("sameAs", first[digest].map { .number(UInt64($0)) } ?? .null),
                    ("time", text(origin?.time.description)), ("cause", text(origin.map { "\($0.cause)" })),
                    ("user", text(origin?.userID)), ("server", text(origin?.workerID)),
                ]))
            if first[digest] == nil { first[digest] = version }
        }
        return .object([("version", .number(UInt64(last))), ("history", .array(versions.reversed()))])
    }
}
