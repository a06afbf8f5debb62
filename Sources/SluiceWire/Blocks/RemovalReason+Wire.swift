internal import SluiceModel

extension RemovalReason {
    /// The byte that stands for the reason in a departure. A server neither purges nor
    /// reads objects as Swift types, so ``purged`` and ``unreadable`` have none of their own.
    var code: UInt8 {
        switch self {
        case .unknown, .purged, .unreadable: 0
        case .deleted: 1
        case .filter: 2
        case .window: 3
        case .permission: 4
        case .expired: 5
        }
    }

    /// The reason that a byte stands for; ``unknown`` for one that this version does not know.
    init(code: UInt8) {
        self =
            switch code {
            case 1: .deleted
            case 2: .filter
            case 3: .window
            case 4: .permission
            case 5: .expired
            default: .unknown
            }
    }
}
