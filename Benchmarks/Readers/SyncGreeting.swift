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
        return upgrade(port: port, to: ProtocolVersion.subprotocol) + masked(frame.finish())
    }

    /// The same in the JSON form.
    static func json(port: UInt16) -> [UInt8] {
        let texts = [#"{"type":"open","readonly":true}"#, #"{"type":"sub","id":1,"q":"\#(query)"}"#]
        return upgrade(port: port, to: "sluice.json.1") + texts.flatMap { masked(Array($0.utf8), opcode: 1) }
    }

    private static func upgrade(port: UInt16, to subprotocol: String) -> [UInt8] {
        let request = """
            GET /bench HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\
            Sec-WebSocket-Protocol: \(subprotocol)\r\n\r\n
            """
        return Array(request.utf8)
    }

    /// The bytes that subscribe in a session that is open.
    static var subscribe: [UInt8] { masked(Frame.encode(subscription)) }

    private static let subscription = ClientMessage.subscribe(.init(session: 1, subscription: 1, query: query))

    private static func masked(_ payload: [UInt8], opcode: UInt8 = 2) -> [UInt8] {
        // Masked with zeros, which change nothing.
        let isShort = payload.count < 126
        let length = isShort ? [UInt8(payload.count)] : [126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        return [0x80 | opcode, 0x80 | length[0]] + length.dropFirst() + [0, 0, 0, 0] + payload
    }
}
