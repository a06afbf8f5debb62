/// Why a WebSocket connection is closed (RFC 6455, section 7.4).
package struct CloseCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let normal = CloseCode(rawValue: 1000)
    package static let goingAway = CloseCode(rawValue: 1001)
    package static let protocolError = CloseCode(rawValue: 1002)
    package static let unsupportedData = CloseCode(rawValue: 1003)
    package static let invalidPayload = CloseCode(rawValue: 1007)
    package static let policyViolation = CloseCode(rawValue: 1008)
    package static let messageTooBig = CloseCode(rawValue: 1009)
    package static let tryAgainLater = CloseCode(rawValue: 1013)

    /// Whether a close frame may have this code: assigned by the registry, or in the ranges for libraries (3000–3999)
    /// and applications (4000–4999).
    package var isAllowedOnWire: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    /// Whether a peer that closes with this code may be expected to accept a new connection later.
    package var outlook: TransportError.Outlook {
        switch rawValue {
        // 1012 is of a server that restarts, and 1014 of a proxy whose server gave no good answer.
        case 1001, 1011...1014: .passing
        // Codes of libraries and applications, as something on the way may use them.
        case 3000...4999: .unclear
        default: .lasting
        }
    }

    package var description: String { String(rawValue) }
}
