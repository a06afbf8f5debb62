internal import COpenSSL

/// A password as it is stored: its scrypt key (RFC 7914), the salt and the parameters.
///
/// With the parameters of today one computation takes 128 MiB and some 300 ms of a processor, so it belongs on
/// ``PasswordWorkers``.
package struct PasswordHash: Hashable, Sendable {
    /// What one computation costs: `blockSize` (r) times 128 bytes times 2 to the power of `costExponent` (N) of memory.
    package struct Parameters: Hashable, Sendable {
        package var costExponent: Int
        package var blockSize: Int
        package var parallelism: Int

        package init(costExponent: Int, blockSize: Int, parallelism: Int) {
            self.costExponent = costExponent
            self.blockSize = blockSize
            self.parallelism = parallelism
        }

        /// N = 2^17, r = 8, p = 1.
        package static let standard = Parameters(costExponent: 17, blockSize: 8, parallelism: 1)

        /// Whether a computation stays within 1 GiB.
        var isBounded: Bool {
            (1...20).contains(costExponent) && (1...32).contains(blockSize) && (1...16).contains(parallelism)
                && blockSize << costExponent <= 8 << 20
        }
    }

    package let parameters: Parameters
    private let salt: [UInt8]
    private let key: [UInt8]

    /// Hashes a password with a salt of 16 random bytes, unless one is given.
    ///
    /// - Returns: nil when there is no memory for the computation.
    package init?(
        of password: [UInt8], parameters: Parameters = .standard, salt: [UInt8] = Secrets.random(16)
    ) {
        guard let key = Self.key(of: password, salt: salt, parameters, byteCount: 32) else { return nil }
        self.parameters = parameters
        self.salt = salt
        self.key = key
    }

    /// Reads ``text``; nil for anything else.
    package init?(_ text: String) {
        let fields = text.split(separator: "$", omittingEmptySubsequences: false)
        guard fields.count == 7, fields[0].isEmpty, fields[1] == "scrypt", let exponent = Int(fields[2]),
            let blockSize = Int(fields[3]), let parallelism = Int(fields[4]),
            let salt = Base64URL.decode(fields[5].utf8), let key = Base64URL.decode(fields[6].utf8), key.count == 32
        else { return nil }
        parameters = Parameters(costExponent: exponent, blockSize: blockSize, parallelism: parallelism)
        guard parameters.isBounded else { return nil }
        self.salt = salt
        self.key = key
    }

    /// The form in which it is stored: `$scrypt$17$8$1$SALT$KEY`.
    package var text: String {
        "$scrypt$\(parameters.costExponent)$\(parameters.blockSize)$\(parameters.parallelism)$"
            + "\(Base64URL.encode(salt))$\(Base64URL.encode(key))"
    }

    /// Whether a password is the one that was hashed.
    package func matches(_ password: [UInt8]) -> Bool {
        guard let key = Self.key(of: password, salt: salt, parameters, byteCount: key.count) else { return false }
        return Secrets.equal(key, self.key)
    }

    /// Computes scrypt.
    package static func key(
        of password: [UInt8], salt: [UInt8], _ parameters: Parameters, byteCount: Int
    ) -> [UInt8]? {
        guard parameters.isBounded else { return nil }
        defer { ERR_clear_error() }
        var key = [UInt8](repeating: 0, count: byteCount)
        // OpenSSL stops at 32 MiB by itself.
        let blockCount = (1 << parameters.costExponent) + parameters.parallelism + 16
        let memory = UInt64(parameters.blockSize * 128 * blockCount)
        let result = password.withUnsafeBytes { password in
            EVP_PBE_scrypt(
                // A null pointer would be taken for "no password" and compute nothing. Of no bytes none are read, whatever
                // the address.
                password.baseAddress?.assumingMemoryBound(to: CChar.self) ?? UnsafePointer(bitPattern: 1),
                password.count, salt, salt.count, 1 << UInt64(parameters.costExponent), UInt64(parameters.blockSize),
                UInt64(parameters.parallelism), memory, &key, byteCount)
        }
        return result == 1 ? key : nil
    }
}

/// What a password may be.
package enum PasswordPolicy {
    package static let characterCounts = 8...256
    /// A character may have any number of bytes, and hashing must not take strangers' megabytes.
    package static let byteCountMax = characterCounts.upperBound * 4

    /// What is wrong with a password; nil if nothing is.
    package static func problem(with password: String) -> String? {
        guard password.utf8.count <= byteCountMax, characterCounts.contains(password.count) else {
            return "a password has \(characterCounts.lowerBound) to \(characterCounts.upperBound) characters"
        }
        guard !password.utf8.contains(0) else { return "a password has no zero bytes" }
        return nil
    }
}
