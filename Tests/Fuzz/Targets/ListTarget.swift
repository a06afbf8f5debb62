import SluiceModel
import SluiceWire

/// What is said of the elements of lists and sets. The first byte chooses the kind. An identity and edits that are
/// taken make a list that is in order, and lead back.
enum ListTarget {
    private static let elementCountMax = 2_048

    static func run(_ bytes: [UInt8]) {
        guard let choice = bytes.first else { return }
        let rest = Array(bytes.dropFirst())
        switch choice % 4 {
        case 0: check(rest, ListIdentity.self)
        case 1: check(rest, ListEdits.self)
        case 2: check(rest, ElementEdits.self)
        default: edit(rest)
        }
    }

    private static func check<Decoded: WireCodable & Equatable>(_ bytes: [UInt8], _ type: Decoded.Type) {
        guard let decoded = try? Decoded(wireBytes: bytes, limits: MessageTarget.limits) else { return }
        let again = try? Decoded(wireBytes: decoded.wireBytes())
        precondition(again == decoded, "\(decoded) became \(String(describing: again))")
    }

    /// A length, an identity of that many bytes, and edits.
    private static func edit(_ bytes: [UInt8]) {
        guard let length = bytes.first.map(Int.init), bytes.count > length else { return }
        let (first, second) = (Array(bytes.dropFirst().prefix(length)), Array(bytes.dropFirst(length + 1)))
        guard let identity = try? ListIdentity(wireBytes: first, limits: MessageTarget.limits),
            let edits = try? ListEdits(wireBytes: second, limits: MessageTarget.limits),
            identity.count <= elementCountMax,
            var list = ElementList((0..<identity.count).map { .int(Int64($0)) }, identity)
        else { return }
        precondition(list.identity.count == identity.count)
        var (before, after) = (list, list)
        let inverse = edits.inverse(of: &before)
        list.apply(edits)
        for (id, outcome) in edits.outcomes { after.apply(outcome, to: id) { _ in } }
        precondition(after == list, "\(edits) do one by one what they do together")
        if !list.isEmpty {
            precondition(ElementList(list.values, list.identity) == list, "\(edits) leave a list in order")
        }
        list.apply(inverse)
        precondition(list == before, "\(inverse) leads back")
    }
}
