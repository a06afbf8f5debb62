import Sluice
import SluiceModel
import SluiceWire

/// The bytes that a reader sends before it has received anything: the upgrade, hello, open and a subscription.
enum SyncGreeting {
    static let query = "Car WHERE TRUEPREDICATE"

    static func bytes(port: UInt16) throws -> [UInt8] {
        let schema = try StoreConfiguration(models: [Car.self]).wholeSchema()
        var frame = FrameBuilder()
        frame.append(ClientMessage.hello(.init(features: Features(), agent: "benchmark")))
        frame.append(ClientMessage.open(.init(session: 1, path: "bench", options: .readOnly, schema: schema)))
        frame.append(ClientMessage.subscribe(.init(session: 1, subscription: 1, query: query)))
        let payload = frame.finish()
        let request = """
            GET /bench HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\
            Sec-WebSocket-Protocol: \(ProtocolVersion.subprotocol)\r\n\r\n
            """
        // Masked with zeros, which change nothing.
        let isShort = payload.count < 126
        let length = isShort ? [UInt8(payload.count)] : [126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        return Array(request.utf8) + [0x82, 0x80 | length[0]] + length.dropFirst() + [0, 0, 0, 0] + payload
    }
}
