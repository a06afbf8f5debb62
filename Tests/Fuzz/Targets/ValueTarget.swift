import FoundationEssentials
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire

/// Everything that is stored or sent as a separate blob. The first byte chooses the kind.
enum ValueTarget {
    static func run(_ bytes: [UInt8]) {
        guard let choice = bytes.first else { return }
        let rest = Array(bytes.dropFirst())
        switch choice % 9 {
        case 0: check(rest, Value.self)
        case 1: check(rest, Row.self)
        case 2: check(rest, ObjectKey.self)
        case 3: check(rest, Changeset.self)
        case 4: check(rest, Schema.self)
        case 5: check(rest, PropertySet.self)
        case 6: check(rest, ObjectRef.self)
        case 7: check(rest, ObjectBlock.self)
        default:
            if let decimal = DecimalKey.decode(rest) {
                precondition(DecimalKey.decode(DecimalKey.encode(decimal)) == decimal || decimal.isNaN)
            }
        }
    }

    private static func check<Decoded: WireCodable & Equatable>(_ bytes: [UInt8], _ type: Decoded.Type) {
        guard let decoded = try? Decoded(wireBytes: bytes, limits: MessageTarget.limits) else { return }
        let again = try? Decoded(wireBytes: decoded.wireBytes())
        precondition(again == decoded, "\(decoded) became \(String(describing: again))")
    }
}
