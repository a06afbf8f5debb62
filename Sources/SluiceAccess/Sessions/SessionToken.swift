internal import SluiceModel

/// A proof of an earlier login: 256 random bits that the client keeps. The server keeps only the hash.
package struct SessionToken: Sendable {
    /// What the text of every token begins with, so that people and programs that look for secrets recognise one.
    private static let mark = "sluice_session_"

    /// The text that the client keeps and presents.
    package let text: String

    /// Makes a new token.
    package init() { text = Self.mark + Base64URL.encode(Secrets.random(32)) }

    /// What the server stores of it.
    package var hash: [UInt8] { SHA256.digest(Array(text.utf8)) }

    /// What is stored of a presented token; nil for what cannot be one.
    package static func hash(of presented: [UInt8]) -> [UInt8]? {
        let mark = Array(mark.utf8)
        guard presented.count == mark.count + 43, presented.starts(with: mark),
            Base64URL.decode(presented.dropFirst(mark.count)) != nil
        else { return nil }
        return SHA256.digest(presented)
    }
}
