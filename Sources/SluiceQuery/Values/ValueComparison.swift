internal import FoundationEssentials
internal import SluiceModel

/// Evaluates an operator on two values. The result has two values: null and NaN make a comparison true or false, never
/// unknown.
struct ValueComparison {
    private let comparison: ComparisonOperator
    private let ignoresCase: Bool

    /// - Parameter ignoresCase: compare texts as if both were folded.
    init(_ comparison: ComparisonOperator, ignoresCase: Bool) {
        self.comparison = comparison
        self.ignoresCase = ignoresCase
    }

    /// Whether the operator holds. Null equals null alone. Every text contains, begins with and ends with null; only
    /// null is like null.
    func holds(_ left: Value, _ right: Value) -> Bool {
        if left.isNull || right.isNull { return holdsWithNull(left.isNull, right.isNull) }
        if comparison.isTextSearch { return search(left, right) }
        if ignoresCase, case .string(let text) = left, case .string(let other) = right {
            return (CaseFolding.compare(text, other) == 0) == (comparison == .equal)
        }
        guard let order = Self.order(left, right) else { return comparison == .notEqual }
        return switch comparison {
        case .equal: order == 0
        case .notEqual: order != 0
        case .less: order < 0
        case .lessOrEqual: order <= 0
        case .greater: order > 0
        case .greaterOrEqual: order >= 0
        // Lists and bounds are compared by their elements, and texts are searched above.
        case .isIn, .between, .beginsWith, .endsWith, .contains, .like: false
        }
    }

    /// The cost of ``holds(_:_:)`` in steps where it depends on how long the values are; else 0.
    func stepCount(_ left: Value, _ right: Value) -> Int {
        guard comparison.isTextSearch || ignoresCase, let length = left.byteCount else { return 0 }
        return FunctionCost.steps(ofBytes: length + (right.byteCount ?? 0))
    }

    /// Whether a value is among those given, which must be sorted, and folded if case is ignored.
    func isMember(_ value: Value, of sorted: [Value]) -> Bool {
        var low = 0
        var high = sorted.count
        while low < high {
            let middle = (low + high) / 2
            let order = memberOrder(sorted[middle], value)
            if order == 0 { return true }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return false
    }

    private func memberOrder(_ member: Value, _ value: Value) -> Int {
        if ignoresCase, case .string(let member) = member, case .string(let value) = value {
            return CaseFolding.compare(member, value)
        }
        return Value.compare(member, value)
    }

    private func holdsWithNull(_ left: Bool, _ right: Bool) -> Bool {
        switch comparison {
        case .equal, .lessOrEqual, .greaterOrEqual, .like: left && right
        case .notEqual: left != right
        case .beginsWith, .endsWith, .contains: right
        case .less, .greater, .isIn, .between: false
        }
    }

    // MARK: Wholes

    /// Whether the operator holds between two wholes: lists of the same length, at each place; sets, if they have the
    /// same elements. `!=` is the negation of `==`.
    func holds(wholes left: Value, _ right: Value) -> Bool {
        guard comparison != .notEqual else {
            return !ValueComparison(.equal, ignoresCase: ignoresCase).holds(wholes: left, right)
        }
        switch (left, right) {
        case (.list(let left), .list(let right)):
            return left.count == right.count && zip(left, right).allSatisfy { holds($0, $1) }
        case (.set(let left), .set(let right)):
            return left.count == right.count
                && left.allSatisfy { element in right.contains { holds(element, $0) } }
        // A broken path to a set yields an empty list.
        case (.set(let elements), .list(let none)), (.list(let none), .set(let elements)):
            return elements.isEmpty && none.isEmpty
        default: return false
        }
    }

    // MARK: Order

    /// Compares two values: negative, zero or positive; nil if one is NaN. Numbers compare by their exact values,
    /// whatever their types.
    private static func order(_ left: Value, _ right: Value) -> Int? {
        switch (left, right) {
        case (.int(let left), .int(let right)): left < right ? -1 : left == right ? 0 : 1
        case (.double(let left), .double(let right)): order(left, right)
        case (.float(let left), .float(let right)): order(Double(left), Double(right))
        case (.float(let left), .double(let right)): order(Double(left), right)
        case (.double(let left), .float(let right)): order(left, Double(right))
        case (.int(let left), .double(let right)): order(left, right)
        case (.int(let left), .float(let right)): order(left, Double(right))
        case (.double(let left), .int(let right)): order(right, left).map { -$0 }
        case (.float(let left), .int(let right)): order(right, Double(left)).map { -$0 }
        case (.decimal(let left), .decimal(let right)):
            left.isNaN || right.isNaN ? nil : left < right ? -1 : left == right ? 0 : 1
        case (.decimal, .int), (.decimal, .float), (.decimal, .double), (.int, .decimal), (.float, .decimal),
            (.double, .decimal):
            DecimalKey.compare(left, right)
        default: Value.compare(left, right)
        }
    }

    private static func order(_ left: Double, _ right: Double) -> Int? {
        left < right ? -1 : left == right ? 0 : left > right ? 1 : nil
    }

    private static func order(_ left: Int64, _ right: Double) -> Int? {
        if right.isNaN { return nil }
        if right >= 0x1p63 { return -1 }
        if right < -0x1p63 { return 1 }
        let whole = Int64(right)
        if left != whole { return left < whole ? -1 : 1 }
        let fraction = right - Double(whole)
        return fraction > 0 ? -1 : fraction < 0 ? 1 : 0
    }

    // MARK: Text

    private func search(_ left: Value, _ right: Value) -> Bool {
        switch (left, right) {
        case (.string(let text), .string(let needle)):
            if comparison == .like { return LikePattern.matches(needle, text, ignoresCase: ignoresCase) }
            if ignoresCase { return searchFolded(text, needle) }
            var text = text
            var needle = needle
            return text.withUTF8 { text in needle.withUTF8 { TextSearch.finds($0, in: text, comparison) } }
        case (.data(let bytes), .data(let needle)):
            return bytes.withUnsafeBufferPointer { bytes in
                needle.withUnsafeBufferPointer { TextSearch.finds($0, in: bytes, comparison) }
            }
        default: return false
        }
    }

    private func searchFolded(_ text: String, _ needle: String) -> Bool {
        switch comparison {
        case .beginsWith: CaseFolding.begins(text, with: needle)
        case .endsWith: CaseFolding.ends(text, with: needle)
        default: CaseFolding.contains(text, needle)
        }
    }
}
