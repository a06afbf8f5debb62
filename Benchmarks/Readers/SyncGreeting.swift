import Sluice
import SluiceModel
import SluiceWire

/// The bytes that a reader sends before it has received anything: the upgrade, hello, open and a subscription.
enum SyncGreeting {
    static let query = "Car WHERE TRUEPREDICATE"

    static func bytes(port: UInt16, subscribes: Bool = true) throws -> [UInt8] {
        let schema = try StoreConfiguration(models: [Car.self]).wholeSchema()
        var frame = FrameBuilder()
        frame.append(ClientMessage.hello(.init(features: Features(), agent: "benchmark")))
        frame.append(ClientMessage.open(.init(session: 1, path: "bench", options: .readOnly, schema: schema)))
        if subscribes { frame.append(subscription) }
        let request = """
            GET /bench HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\
            Sec-WebSocket-Protocol: \(ProtocolVersion.subprotocol)\r\n\r\n
            """
        return Array(request.utf8) + masked(frame.finish())
    }

    /// The bytes that subscribe in a session that is open.
    static var subscribe: [UInt8] { masked(Frame.encode(subscription)) }

    private static let subscription = ClientMessage.subscribe(.init(session: 1, subscription: 1, query: query))

    private static func masked(_ payload: [UInt8]) -> [UInt8] {
        // Masked with zeros, which change nothing.
        let isShort = payload.count < 126
        let length = isShort ? [UInt8(payload.count)] : [126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        return [0x82, 0x80 | length[0]] + length.dropFirst() + [0, 0, 0, 0] + payload
    }
}
