internal import SluiceWire

/// A report that a store can ask its server for.
package enum ReportTopic: Sendable {
    case status
    case subscriptions
    case explain(query: String)
    case schema

    var wire: ClientMessage.ReportTopic {
        switch self {
        case .status: .status
        case .subscriptions: .subscriptions
        case .explain: .explain
        case .schema: .schema
        }
    }

    var argument: String {
        switch self {
        case .status, .subscriptions, .schema: ""
        case .explain(let query): query
        }
    }
}
