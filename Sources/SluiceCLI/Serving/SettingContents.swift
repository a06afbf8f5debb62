internal import SluiceServer

/// What the files have that settings name: a file may have another content under the same name.
struct SettingContents: Sendable {
    private static let byteCountMax = 16 << 20

    /// A hash of the content by the name of the setting.
    private(set) var hashes: [String: Int] = [:]

    /// Reads the files of certificate and keys; the other contents are in the configuration. What cannot be read is
    /// missing: whoever needs it says why.
    init(_ configuration: ServerConfiguration) {
        if let certificate = configuration.certificate {
            hashes["tls-certificate"] = Self.content(certificate.chainFile)?.hashValue
            hashes["tls-key"] = Self.content(certificate.keyFile)?.hashValue
        }
        hashes["rules"] = configuration.rules?.hashValue
        hashes["shared-secret-file"] = configuration.logins.sharedSecret?.hashValue
        let keys = configuration.logins.issuers.map(\.keys)
        let secrets = keys.compactMap { if case .secret(let bytes) = $0 { bytes } else { nil } }
        if !secrets.isEmpty { hashes["jwt-secret-file"] = secrets.hashValue }
        let sets = keys.compactMap { if case .file(let path) = $0 { Self.content(path) ?? [] } else { nil } }
        if !sets.isEmpty { hashes["jwks"] = sets.hashValue }
    }

    private static func content(_ path: String) -> [UInt8]? {
        try? SmallFile.bytes(path, of: "", byteCountMax: byteCountMax)
    }

    /// Whether a setting names files with another content than here.
    func isOther(_ name: String, in found: SettingContents) -> Bool {
        found.hashes[name].map { $0 != hashes[name] } ?? false
    }

    /// Takes over what a setting names now.
    mutating func replace(_ name: String, with found: SettingContents) { hashes[name] = found.hashes[name] }
}
