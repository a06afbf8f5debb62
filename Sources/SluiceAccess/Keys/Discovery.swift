internal import SluiceJSON

/// Where an issuer publishes its keys: OpenID Connect Discovery 1.0.
package enum Discovery {
    /// The page of an issuer that says where its keys are.
    package static func url(of issuer: String) -> String {
        (issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer) + "/.well-known/openid-configuration"
    }

    /// The URL of the keys in that page.
    ///
    /// - Throws: ``KeySetError`` when the page is of another issuer, or names no URL with `https`.
    package static func keysURL(_ page: [UInt8], issuer: String) throws(KeySetError) -> String {
        guard page.count <= KeySet.byteCountMax,
            let json = page.withUnsafeBufferPointer({ bytes in try? JSONParser.parse(bytes) })
        else { throw KeySetError("the page \(url(of: issuer)) is not JSON") }
        guard json["issuer"]?.string.map({ Array($0.utf8) == Array(issuer.utf8) }) ?? false else {
            throw KeySetError("the page \(url(of: issuer)) is of another issuer; name the issuer exactly as it does")
        }
        guard let keys = json["jwks_uri"]?.string, keys.hasPrefix("https://") else {
            throw KeySetError("the page \(url(of: issuer)) names no https URL of keys (\"jwks_uri\")")
        }
        return keys
    }

    /// The issuers that have a name here. Those in capitals are to be filled in: `microsoft/TENANT`.
    package static let presets = [
        ("apple", "https://appleid.apple.com"),
        ("auth0/DOMAIN", "https://DOMAIN/"),
        ("firebase/PROJECT", "https://securetoken.google.com/PROJECT"),
        ("github-actions", "https://token.actions.githubusercontent.com"),
        ("gitlab", "https://gitlab.com"),
        ("google", "https://accounts.google.com"),
        ("microsoft/TENANT", "https://login.microsoftonline.com/TENANT/v2.0"),
        ("supabase/PROJECT", "https://PROJECT.supabase.co/auth/v1"),
    ]

    /// The issuer that a name of ``presets`` stands for; nil for another text.
    package static func preset(_ name: String) -> String? {
        for (pattern, issuer) in presets {
            guard let slash = pattern.firstIndex(of: "/") else {
                if pattern == name { return issuer }
                continue
            }
            let head = pattern[...slash]
            let value = name.dropFirst(head.count)
            guard name.hasPrefix(head), !value.isEmpty,
                value.utf8.allSatisfy({
                    (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20) || $0 == 0x2D || $0 == 0x2E
                })
            else { continue }
            let parts = issuer.split(
                separator: pattern[slash...].dropFirst(), maxSplits: 1, omittingEmptySubsequences: false)
            return parts.joined(separator: String(value))
        }
        return nil
    }
}
