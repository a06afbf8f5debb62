internal import SluiceWire

/// What a server can be asked about itself.
package enum ReportTopic: Sendable {
    case status
    case subscriptions
    case explain(query: String)

    var wire: ClientMessage.ReportTopic {
        switch self {
        case .status: .status
        case .subscriptions: .subscriptions
        case .explain: .explain
        }
    }

    var argument: String {
        switch self {
        case .status, .subscriptions: ""
        case .explain(let query): query
        }
    }
}
