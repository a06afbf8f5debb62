import SluiceModel
import SluiceQuery

/// Finds views by the condition on one property that they are filed under: an equality, a prefix or a range.
struct ConditionTable {
    private var byValue: [Value: Set<UInt64>] = [:]
    private var prefixes = PrefixTable()
    private var ranges = IntervalTable()

    var isEmpty: Bool { byValue.isEmpty && prefixes.isEmpty && ranges.isEmpty }

    mutating func insert(_ test: RootCondition.Test, _ number: UInt64) {
        switch test {
        case .equal(let value): byValue[value, default: []].insert(number)
        case .isIn(let values): for value in values { byValue[value, default: []].insert(number) }
        case .prefix(let value): prefixes.insert(value, number)
        case .range(let range): ranges.insert(range, number)
        }
    }

    mutating func remove(_ test: RootCondition.Test, _ number: UInt64) {
        switch test {
        case .equal(let value): remove(value, number)
        case .isIn(let values): for value in values { remove(value, number) }
        case .prefix(let value): prefixes.remove(value, number)
        case .range(let range): ranges.remove(range, number)
        }
    }

    private mutating func remove(_ value: Value, _ number: UInt64) {
        byValue[value]?.remove(number)
        if byValue[value]?.isEmpty == true { byValue[value] = nil }
    }

    /// Calls `body` with the number of every view whose condition the value could meet; a view may occur several times.
    func forEach(metBy value: Value, _ body: (UInt64) -> Void) {
        for number in byValue[value] ?? [] { body(number) }
        if !ranges.isEmpty { ranges.forEach(holding: value, body) }
        if !prefixes.isEmpty { prefixes.forEach(beginning: value, body) }
    }

    func forEach(_ body: (UInt64) -> Void) {
        for numbers in byValue.values { for number in numbers { body(number) } }
        prefixes.forEach(body)
        ranges.forEach(body)
    }
}
