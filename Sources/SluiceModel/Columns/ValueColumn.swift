/// The values of one property in many rows, in the form in which they came, so that who stores them need not make a
/// `Value` of each.
package struct ValueColumn: Sendable {
    package enum Content: Sendable {
        /// Nothing but nulls.
        case null
        /// The rows' keys.
        case key
        /// Integers and what travels as integers. Null rows have any number.
        case integers(Integers, [Int64])
        /// Null rows have any number. Single precision is exact in double.
        case floats([Double])
        case doubles([Double])
        /// Null rows have any text.
        case texts(Texts, TextColumn)
        /// Everything else, nulls included.
        case values([Value])
    }

    /// What travels as integers.
    package enum Integers: Sendable {
        case bool, int, date, link
    }

    /// What travels as texts.
    package enum Texts: Sendable {
        case string, link
    }

    /// How many rows there are.
    package let count: Int
    package let content: Content
    /// Which rows are null; empty if no row is, and where ``content`` says so itself.
    package let isNull: [Bool]

    /// - Precondition: `content` has a value for each row, and `isNull` one or none.
    package init(count: Int, _ content: Content, isNull: [Bool] = []) {
        self.count = count
        self.content = content
        self.isNull = isNull
    }

    package init(_ values: [Value]) { self.init(count: values.count, .values(values)) }

    /// The value of a row.
    ///
    /// - Parameter keys: the rows' keys.
    package func value(at row: Int, keys: [ObjectKey]) -> Value {
        if !isNull.isEmpty, isNull[row] { return .null }
        switch content {
        case .null: return .null
        case .key: return keys[row].value
        case .integers(let kind, let numbers):
            switch kind {
            case .bool: return .bool(numbers[row] != 0)
            case .int: return .int(numbers[row])
            case .date: return .date(Timestamp(microseconds: numbers[row]))
            case .link: return .link(.int(numbers[row]))
            }
        case .floats(let numbers): return .float(Float(numbers[row]))
        case .doubles(let numbers): return .double(numbers[row])
        case .texts(let kind, let texts):
            let text = texts.text(texts.index(ofRow: row))
            return kind == .string ? .string(text) : .link(.string(text))
        case .values(let values): return values[row]
        }
    }

    /// Whether the column repeats the rows' keys, and says nothing else. A column of keys in another form may be missed.
    package func repeats(_ keys: ValueColumn) -> Bool {
        if case .key = content { return true }
        guard isNull.isEmpty, keys.isNull.isEmpty else { return false }
        return switch (content, keys.content) {
        case (.integers(.int, let numbers), .integers(.int, let keys)): numbers == keys
        case (.texts(.string, let texts), .texts(.string, let keys)):
            (0..<count).allSatisfy {
                texts.utf8(texts.index(ofRow: $0)).elementsEqual(keys.utf8(keys.index(ofRow: $0)))
            }
        case (.values(let values), .values(let keys)): values == keys
        default: false
        }
    }

    /// All values, row after row. Rows that have the same text share it.
    package func values(keys: [ObjectKey]) -> [Value] {
        switch content {
        case .values(let values): return values
        case .texts(let kind, let texts) where texts.distinctCount < count:
            let distinct = (0..<texts.distinctCount).map { index -> Value in
                kind == .string ? .string(texts.text(index)) : .link(.string(texts.text(index)))
            }
            return (0..<count).map { !isNull.isEmpty && isNull[$0] ? .null : distinct[texts.index(ofRow: $0)] }
        default: return (0..<count).map { value(at: $0, keys: keys) }
        }
    }

    /// Calls `body` with the targets of the rows' links: each at least once, and seldom more often.
    package func forEachTarget(_ body: (ObjectKey) -> Void) {
        switch content {
        case .values(let values):
            for value in values { value.forEachLink(body) }
        case .texts(.link, let texts) where texts.distinctCount < count:
            var isUsed = [Bool](repeating: false, count: texts.distinctCount)
            for row in 0..<count where isNull.isEmpty || !isNull[row] { isUsed[texts.index(ofRow: row)] = true }
            for (index, isUsed) in isUsed.enumerated() where isUsed { body(.string(texts.text(index))) }
        case .texts(.link, _), .integers(.link, _):
            for row in 0..<count { value(at: row, keys: []).forEachLink(body) }
        case .null, .key, .integers, .floats, .doubles, .texts: break
        }
    }
}
