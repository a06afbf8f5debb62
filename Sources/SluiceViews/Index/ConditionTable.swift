import SluiceModel
import SluiceQuery

/// Stores numbers under conditions on one property (a value, a part of it or a range), and finds those whose condition a
/// value could meet. An object, since tables of tables are walked for each change, and copying one takes longer than
/// asking it.
final class ConditionTable {
    private var byValue = HashedNumbers<Value>()
    private var prefixes = PrefixTable()
    private var suffixes = PrefixTable(isReversed: true)
    private var parts = PartTable()
    private let ranges = IntervalTable()

    var isEmpty: Bool { byValue.isEmpty && prefixes.isEmpty && suffixes.isEmpty && parts.isEmpty && ranges.isEmpty }

    /// How many numbers are filed under this condition; for a list of values, the sum over the values.
    func count(of test: RootCondition.Test) -> Int {
        switch test {
        case .equal(let value): byValue.count(of: value)
        case .isIn(let values): values.reduce(0) { $0 + byValue.count(of: $1) }
        case .prefix(let value): prefixes.count(of: value)
        case .suffix(let value): suffixes.count(of: value)
        case .part(let value): parts.count(of: value)
        case .range(let range): ranges.count(of: range)
        }
    }

    /// How many numbers a value that meets this condition finds, about. Ranges that overlap are counted up to 1,024.
    func crowd(of test: RootCondition.Test) -> Int {
        guard case .range(let range) = test else { return count(of: test) }
        return ranges.count(overlapping: range, atMost: 1_024)
    }

    func insert(_ test: RootCondition.Test, _ number: UInt64) {
        switch test {
        case .equal(let value): byValue.insert(number, for: value)
        case .isIn(let values): for value in values { byValue.insert(number, for: value) }
        case .prefix(let value): prefixes.insert(value, number)
        case .suffix(let value): suffixes.insert(value, number)
        case .part(let value): parts.insert(value, number)
        case .range(let range): ranges.insert(range, number)
        }
    }

    func remove(_ test: RootCondition.Test, _ number: UInt64) {
        switch test {
        case .equal(let value): byValue.remove(number, for: value)
        case .isIn(let values): for value in values { byValue.remove(number, for: value) }
        case .prefix(let value): prefixes.remove(value, number)
        case .suffix(let value): suffixes.remove(value, number)
        case .part(let value): parts.remove(value, number)
        case .range(let range): ranges.remove(range, number)
        }
    }

    /// Calls `body` with every number whose condition a value could meet, with some of them more than once.
    func forEach(metBy value: Value, _ body: (UInt64) -> Void) {
        byValue.forEach(of: value, body)
        if !ranges.isEmpty { ranges.forEach(holding: value, body) }
        if !prefixes.isEmpty { prefixes.forEach(beginning: value, body) }
        if !suffixes.isEmpty { suffixes.forEach(beginning: value, body) }
        if !parts.isEmpty { parts.forEach(within: value, body) }
    }

    func forEach(_ body: (UInt64) -> Void) {
        byValue.forEach(body)
        prefixes.forEach(body)
        suffixes.forEach(body)
        parts.forEach(body)
        ranges.forEach(body)
    }
}

/// Stores numbers under conditions on the properties of one class, and finds those whose condition an object could
/// meet.
struct PropertyConditions {
    private(set) var tables: [Int: ConditionTable] = [:]

    var isEmpty: Bool { tables.isEmpty }

    func count(of condition: RootCondition) -> Int { tables[condition.property]?.count(of: condition.test) ?? 0 }

    /// How many numbers an object that meets this condition finds by the condition's property, about.
    func crowd(of condition: RootCondition) -> Int { tables[condition.property]?.crowd(of: condition.test) ?? 0 }

    mutating func insert(_ condition: RootCondition, _ number: UInt64) {
        let table = tables[condition.property] ?? ConditionTable()
        tables[condition.property] = table
        table.insert(condition.test, number)
    }

    mutating func remove(_ condition: RootCondition, _ number: UInt64) {
        tables[condition.property]?.remove(condition.test, number)
        if tables[condition.property]?.isEmpty == true { tables[condition.property] = nil }
    }

    /// Calls `body` with every number whose condition an object could meet. If the value of a property is not known,
    /// these are all numbers under conditions on the property.
    func forEach(metBy row: Row, _ body: (UInt64) -> Void) {
        for (property, table) in tables {
            if let value = row.value(of: property) { table.forEach(metBy: value, body) } else { table.forEach(body) }
        }
    }

    func forEach(_ body: (UInt64) -> Void) { for table in tables.values { table.forEach(body) } }
}

extension Row {
    /// The value of a property; nil if it is not known, because the row is older than the property or lacks it.
    func value(of property: Int) -> Value? {
        values.indices.contains(property) && !absent.contains(property) ? values[property] : nil
    }
}
