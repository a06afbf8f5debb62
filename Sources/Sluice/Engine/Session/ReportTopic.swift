internal import SluiceWire

/// A report that a store can ask its server for.
package enum ReportTopic: Sendable {
    case status
    case subscriptions
    case explain(query: String)
    case schema
    /// The rules that hold.
    case rules
    /// Other rules than those that hold; the question is JSON.
    case formerRules(String)
    /// What the user may do; the question is JSON, as in the next two.
    case privileges(String)
    case verdict(String)
    case explainAs(String)
    case top

    var wire: ClientMessage.ReportTopic {
        switch self {
        case .status: .status
        case .subscriptions: .subscriptions
        case .explain: .explain
        case .schema: .schema
        case .rules, .formerRules: .rules
        case .privileges: .privileges
        case .verdict: .verdict
        case .explainAs: .explainAs
        case .top: .top
        }
    }

    var argument: String {
        switch self {
        case .status, .subscriptions, .schema, .rules, .top: ""
        case .explain(let query): query
        case .formerRules(let question), .privileges(let question), .verdict(let question), .explainAs(let question):
            question
        }
    }
}
