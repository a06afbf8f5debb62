internal import SluiceWire

/// What a server can be asked about itself.
enum ReportTopic: Sendable {
    case status
    case subscriptions

    var wire: ClientMessage.ReportTopic {
        switch self {
        case .status: .status
        case .subscriptions: .subscriptions
        }
    }
}
