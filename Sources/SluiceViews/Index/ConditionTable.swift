import SluiceModel
import SluiceQuery

/// Numbers that are filed under conditions on one property: by value, by prefix, by range.
struct ConditionTable {
    private var byValue: [Value: NumberSet] = [:]
    private var prefixes = PrefixTable()
    private var ranges = IntervalTable()

    var isEmpty: Bool { byValue.isEmpty && prefixes.isEmpty && ranges.isEmpty }

    /// How many numbers are filed under the same as the condition; of several values, under all of them together.
    func count(of test: RootCondition.Test) -> Int {
        switch test {
        case .equal(let value): byValue[value]?.count ?? 0
        case .isIn(let values): values.reduce(0) { $0 + (byValue[$1]?.count ?? 0) }
        case .prefix(let value): prefixes.count(of: value)
        case .range(let range): ranges.count(of: range)
        }
    }

    mutating func insert(_ test: RootCondition.Test, _ number: UInt64) {
        switch test {
        case .equal(let value): byValue.insert(number, for: value)
        case .isIn(let values): for value in values { byValue.insert(number, for: value) }
        case .prefix(let value): prefixes.insert(value, number)
        case .range(let range): ranges.insert(range, number)
        }
    }

    mutating func remove(_ test: RootCondition.Test, _ number: UInt64) {
        switch test {
        case .equal(let value): byValue.remove(number, for: value)
        case .isIn(let values): for value in values { byValue.remove(number, for: value) }
        case .prefix(let value): prefixes.remove(value, number)
        case .range(let range): ranges.remove(range, number)
        }
    }

    /// Calls `body` with every number whose condition a value could meet; more than once with some.
    func forEach(metBy value: Value, _ body: (UInt64) -> Void) {
        byValue[value]?.forEach(body)
        if !ranges.isEmpty { ranges.forEach(holding: value, body) }
        if !prefixes.isEmpty { prefixes.forEach(beginning: value, body) }
    }

    func forEach(_ body: (UInt64) -> Void) {
        for numbers in byValue.values { numbers.forEach(body) }
        prefixes.forEach(body)
        ranges.forEach(body)
    }
}

/// Numbers that are filed under conditions on properties of one class.
struct PropertyConditions {
    private(set) var tables: [Int: ConditionTable] = [:]

    var isEmpty: Bool { tables.isEmpty }

    func count(of condition: RootCondition) -> Int { tables[condition.property]?.count(of: condition.test) ?? 0 }

    mutating func insert(_ condition: RootCondition, _ number: UInt64) {
        tables[condition.property, default: ConditionTable()].insert(condition.test, number)
    }

    mutating func remove(_ condition: RootCondition, _ number: UInt64) {
        tables[condition.property]?.remove(condition.test, number)
        if tables[condition.property]?.isEmpty == true { tables[condition.property] = nil }
    }

    /// Calls `body` with every number whose condition an object meets; where the object lacks the property, with all of
    /// that property.
    func forEach(metBy row: Row, _ body: (UInt64) -> Void) {
        for (property, table) in tables {
            if let value = row.value(of: property) { table.forEach(metBy: value, body) } else { table.forEach(body) }
        }
    }

    func forEach(_ body: (UInt64) -> Void) { for table in tables.values { table.forEach(body) } }
}

extension Row {
    /// A property's value; nil where it is not known, since the row is older than the property or lacks it.
    func value(of property: Int) -> Value? {
        values.indices.contains(property) && !absent.contains(property) ? values[property] : nil
    }
}
