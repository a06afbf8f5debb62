internal import SluiceJSON
package import SluiceModel

/// A rules file that was read and found well formed, whatever classes there are; see `docs/permissions.md`.
///
/// ```json
/// {"user": {"teams": "Team WHERE ANY members.id == $user.id"},
///  "classes": {"Document": {"read": "owner.id == $user.id OR team IN $user.teams"}}}
/// ```
package struct RulesFile: Sendable {
    /// The same for files that differ only in blanks and in the order of members.
    package let canonicalBytes: [UInt8]
    /// The first 128 bits of SHA-256 over ``canonicalBytes``.
    package let hash: ObjectID
    let document: RulesDocument

    /// - Throws: ``RulesError`` with everything that is wrong in the file, short of what only a schema can tell.
    package init(_ bytes: [UInt8]) throws(RulesError) {
        let reader = RulesReader(bytes)
        (document, canonicalBytes) = try reader.read()
        hash = SHA256.truncatedID(of: canonicalBytes)
    }

    package init(_ text: String) throws(RulesError) { try self.init(Array(text.utf8)) }
}

extension RulesFile: Hashable {
    package static func == (left: RulesFile, right: RulesFile) -> Bool { left.canonicalBytes == right.canonicalBytes }

    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}
