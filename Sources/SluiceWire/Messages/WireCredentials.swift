/// One proof of who the client is. A session may present several.
package struct WireCredentials: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    package var kind: Kind
    /// What the kind says: UTF-8 text, or bytes.
    package var payload: [UInt8]

    package init(_ kind: Kind, _ payload: [UInt8] = []) {
        self.kind = kind
        self.payload = payload
    }

    /// The kind alone, so that no secret reaches a log.
    package var description: String { "credentials of kind \(kind.rawValue)" }

    package var customMirror: Mirror { Mirror(self, children: ["kind": kind]) }

    /// How the payload proves it. More kinds may come; a server refuses those it does not know.
    package struct Kind: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt64

        package init(rawValue: UInt64) { self.rawValue = rawValue }

        /// No proof: the anonymous user. The payload is empty.
        package static let anonymous = Kind(rawValue: 0)
        /// A JSON Web Token, as text.
        package static let token = Kind(rawValue: 1)
        /// A secret that server and clients share, as bytes.
        package static let sharedSecret = Kind(rawValue: 2)
        /// A user name in UTF-8, a zero byte, a password in UTF-8.
        package static let password = Kind(rawValue: 3)
        /// A token that the server gave at an earlier login, as text.
        package static let session = Kind(rawValue: 4)
    }
}
