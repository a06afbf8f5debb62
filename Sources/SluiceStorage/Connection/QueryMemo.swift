internal import SluiceModel
internal import SluiceQuery

/// What a running statement remembers of values that many of its rows share, see ``TableLayout/Function/remember``.
final class QueryMemo {
    private struct Key: Hashable {
        let slot: Int64
        /// The object that the value belongs to; nil where a link leads nowhere.
        let row: Int64?
    }

    private var values: [Key: SQLBinding] = [:]

    func value(in slot: Int64, of row: Int64?) -> SQLBinding? { values[Key(slot: slot, row: row)] }

    func remember(_ value: SQLBinding, in slot: Int64, of row: Int64?) {
        guard values.count < EvaluationMemo.countMax else { return }
        values[Key(slot: slot, row: row)] = value
    }
}
