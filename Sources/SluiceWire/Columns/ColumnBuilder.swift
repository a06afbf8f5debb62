package import SluiceModel

/// Collects the values of one property in many rows in the form in which they travel, so that who reads rows from a store
/// need not make a `Value` of each.
///
/// Each `append` adds a row, and returns what its value takes in a block at the most, in bytes, as `Value.dataSize` says.
package struct ColumnBuilder {
    /// What the values are that are not null.
    package enum Kind: Sendable {
        /// Integers and what travels as integers.
        case integers(ValueColumn.Integers)
        case floats, doubles, texts
        /// Links to objects with texts for keys.
        case textLinks
        /// The rows' keys, which are known: only their number counts.
        case keys
        /// Everything else.
        case values
    }

    private let kind: Kind
    private var count = 0
    /// Which rows are null; empty until one is.
    private var isNull: [Bool] = []
    private var integers: [Int64] = []
    private var numbers: [Double] = []
    private var values: [Value] = []
    /// A text for each row; for links one for each target.
    private var texts = TextBuilder()
    /// Which of the targets each row links to.
    private var indexes: [Int32] = []
    private var targets = Targets()

    package init(_ kind: Kind) { self.kind = kind }

    package mutating func appendNull() -> Int {
        if isNull.isEmpty { isNull = Array(repeating: false, count: count) }
        isNull.append(true)
        count += 1
        switch kind {
        case .integers: integers.append(0)
        case .floats, .doubles: numbers.append(0)
        case .texts: texts.append(UnsafeRawBufferPointer(start: nil, count: 0))
        case .textLinks: indexes.append(0)
        case .values: values.append(.null)
        case .keys: break
        }
        return 1
    }

    package mutating func append(integer number: Int64) -> Int {
        addPresent()
        integers.append(number)
        return switch kind {
        case .integers(.bool): 1
        case .integers(.link): 1 + ObjectKey.int(number).byteCount
        default: 1 + IntegerSequence.varintSize(ZigZag.encode(number))
        }
    }

    package mutating func append(number: Double) -> Int {
        addPresent()
        numbers.append(number)
        if case .floats = kind { return 5 }
        return 9
    }

    package mutating func append(text: UnsafeRawBufferPointer) -> Int {
        addPresent()
        texts.append(text)
        return 6 + text.count
    }

    /// - Parameters:
    ///   - row: a number that stands for the target.
    ///   - key: the target's key; called once for each target.
    package mutating func appendLink(row: Int64, key: () throws -> ObjectKey) rethrows -> Int {
        addPresent()
        let target = try targets.index(ofRow: row) {
            let key = try key()
            if case .string(var text) = key { text.withUTF8 { texts.append(UnsafeRawBufferPointer($0)) } }
            return 1 + key.byteCount
        }
        indexes.append(target.index)
        return target.byteCount
    }

    package mutating func append(value: Value) -> Int {
        addPresent()
        values.append(value)
        return value.dataSize.byteCount
    }

    /// Adds the row's key.
    package mutating func append(key: ObjectKey) -> Int {
        addPresent()
        return key.value.dataSize.byteCount
    }

    @inline(__always)
    private mutating func addPresent() {
        if !isNull.isEmpty { isNull.append(false) }
        count += 1
    }

    /// The rows that were appended.
    package func finish() -> ValueColumn {
        let content: ValueColumn.Content =
            switch kind {
            case .integers(let kind): .integers(kind, integers)
            case .floats: .floats(numbers)
            case .doubles: .doubles(numbers)
            case .texts: .texts(.string, texts.finish(indexes: nil))
            case .textLinks: targets.isEmpty ? .null : .texts(.link, texts.finish(indexes: indexes))
            case .values: .values(values)
            case .keys: .key
            }
        // Values and nulls say themselves that they are null.
        return switch content {
        case .values, .null: ValueColumn(count: count, content)
        default: ValueColumn(count: count, content, isNull: isNull)
        }
    }
}

/// The targets of links, each with its position among them and what a link to it takes.
private struct Targets {
    private typealias Target = (index: Int32, byteCount: Int)

    private var known: [Int64: Target] = [:]
    /// Rows often link to what the row before linked to.
    private var last: (row: Int64, target: Target)?

    var isEmpty: Bool { known.isEmpty }

    mutating func index(ofRow row: Int64, size: () throws -> Int) rethrows -> (index: Int32, byteCount: Int) {
        if let last, last.row == row { return last.target }
        let target: Target
        if let former = known[row] {
            target = former
        } else {
            target = (Int32(truncatingIfNeeded: known.count), try size())
            known[row] = target
        }
        last = (row, target)
        return target
    }
}
