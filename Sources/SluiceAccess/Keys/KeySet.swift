internal import SluiceJSON

/// The public keys of an issuer: a JWK Set (RFC 7517).
package struct KeySet: Sendable {
    /// The longest text of a key set, in bytes, and the most keys in it.
    package static let byteCountMax = 1 << 18
    package static let keyCountMax = 128

    private struct Entry: Sendable {
        let id: String?
        let key: VerificationKey
    }

    private let entries: [Entry]

    package var count: Int { entries.count }

    /// A set of one key without a name.
    package init(_ key: VerificationKey) { entries = [Entry(id: nil, key: key)] }

    /// Reads a key set. Keys of other kinds, for other uses, and too small ones are left out, as are symmetric ones:
    /// what is in a set is public.
    ///
    /// - Parameter rsaAlgorithm: the algorithm of RSA keys that do not say theirs.
    /// - Throws: ``KeySetError`` when this is no key set, when two of its keys have one name, or when no key is left.
    package init(_ bytes: [UInt8], rsaAlgorithm: SignatureAlgorithm = .rs256) throws(KeySetError) {
        guard bytes.count <= Self.byteCountMax else { throw KeySetError("it has more than \(Self.byteCountMax) bytes") }
        let set: JSONValue
        do throws(JSONError) {
            set = try bytes.withUnsafeBufferPointer { (bytes) throws(JSONError) in try JSONParser.parse(bytes) }
        } catch {
            throw KeySetError("it is not JSON at byte \(error.position): \(error.message)")
        }
        guard let keys = set["keys"]?.array else { throw KeySetError("it has no array \"keys\"") }
        guard keys.count <= Self.keyCountMax else { throw KeySetError("it has more than \(Self.keyCountMax) keys") }
        var entries: [Entry] = []
        var ids: Set<[UInt8]> = []
        for json in keys {
            guard let key = Self.key(json, rsaAlgorithm) else { continue }
            let id = json["kid"]?.string
            if let id, !ids.insert(Array(id.utf8)).inserted { throw KeySetError("two of its keys have one \"kid\"") }
            entries.append(Entry(id: id, key: key))
        }
        guard !entries.isEmpty else {
            throw KeySetError("it has no key for signatures: RSA with 2048 bits or more, EC on P-256, OKP on Ed25519")
        }
        self.entries = entries
    }

    /// The key that a token names; nil if there is none. A token that names none gets the only key of its algorithm.
    package func key(of token: SignedToken) -> VerificationKey? {
        if let id = token.keyID {
            let named = entries.first { $0.id.map { Array($0.utf8) == Array(id.utf8) } ?? false }
            // A set of one key that has no name needs none.
            return named?.key ?? (entries.count == 1 && entries[0].id == nil ? entries[0].key : nil)
        }
        let fitting = entries.filter { $0.key.algorithm == token.algorithm }
        return fitting.count == 1 ? fitting[0].key : nil
    }

    private static func key(_ json: JSONValue, _ rsaAlgorithm: SignatureAlgorithm) -> VerificationKey? {
        if let use = json["use"], use.string != "sig" { return nil }
        if let uses = json["key_ops"] {
            guard let uses = uses.array, uses.contains(.string("verify")) else { return nil }
        }
        let declared: SignatureAlgorithm?
        if let name = json["alg"] {
            guard let algorithm = name.string.flatMap({ SignatureAlgorithm(rawValue: $0) }) else { return nil }
            declared = algorithm
        } else {
            declared = nil
        }
        let key: VerificationKey? =
            switch (json["kty"]?.string, json["crv"]?.string) {
            case ("RSA", _):
                if let modulus = number(json["n"]), let exponent = number(json["e"]) {
                    VerificationKey(rsaModulus: modulus, exponent: exponent, algorithm: declared ?? rsaAlgorithm)
                } else {
                    nil
                }
            case ("EC", "P-256"):
                if let x = number(json["x"]), let y = number(json["y"]) { VerificationKey(p256X: x, y: y) } else { nil }
            case ("OKP", "Ed25519"): number(json["x"]).flatMap { VerificationKey(ed25519: $0) }
            default: nil
            }
        return declared == nil || key?.algorithm == declared ? key : nil
    }

    private static func number(_ json: JSONValue?) -> [UInt8]? {
        json?.string.flatMap { $0.utf8.count <= 4_096 ? Base64URL.decode($0.utf8) : nil }
    }
}

/// Why a text is no key set that can be used.
package struct KeySetError: Error, Hashable, Sendable {
    package let message: String

    package init(_ message: String) { self.message = message }
}
