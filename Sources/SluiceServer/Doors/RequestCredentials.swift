internal import FoundationEssentials
internal import SluiceTransport
internal import SluiceWire

/// What the request that opens a connection says about its user: `Authorization: Bearer …` or `Basic …` (RFC 6750,
/// RFC 7617). Other schemes may be a gateway's, and are not looked at.
enum RequestCredentials {
    /// - Returns: none where the header is missing, of another scheme, or malformed.
    static func of(_ headers: HTTPHeaders) -> [WireCredentials] {
        let values = headers.values("Authorization")
        guard values.count == 1, let blank = values[0].firstIndex(of: " ") else { return [] }
        let scheme = values[0][..<blank].lowercased()
        let value = values[0][blank...].drop { $0 == " " }
        switch scheme {
        case "bearer":
            let payload = Array(value.utf8)
            // One of the two it is; neither can be the other.
            return [WireCredentials(.session, payload), WireCredentials(.token, payload)]
        case "basic":
            guard let data = Data(base64Encoded: String(value)), let colon = data.firstIndex(of: UInt8(ascii: ":"))
            else { return [] }
            return [WireCredentials(.password, Array(data[..<colon]) + [0] + Array(data[(colon + 1)...]))]
        default: return []
        }
    }
}
