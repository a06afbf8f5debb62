package import SluiceModel

/// What one function has computed of a group, so that values can come and go.
///
/// Counts, sums and averages are exact, whatever comes and goes; see ``FigureSum``. Null is left out, and NaN is neither a
/// minimum nor a maximum, as in ``Aggregation``.
package enum Figure: Sendable {
    case count(Int)
    case sum(FigureSum)
    case average(FigureSum, count: Int)
    case extreme(FigureExtremes)

    /// How many objects there can be. What comes from elsewhere and is no such number is no figure.
    static let counts: ClosedRange<Int64> = 0...(1 << 48)

    /// The figure of no objects.
    package init(_ function: Query.Aggregates.Function) {
        switch function {
        case .count: self = .count(0)
        case .value(.sum, _, let type): self = .sum(FigureSum(of: type))
        case .value(.average, _, let type): self = .average(FigureSum(of: type), count: 0)
        case .value(.minimum, _, _): self = .extreme(FigureExtremes(isMaximum: false))
        case .value(.maximum, _, _): self = .extreme(FigureExtremes(isMaximum: true))
        }
    }

    /// The figure that ``value`` gave; nil if it is none of the function. Of an extreme only the first value is known.
    package init?(_ function: Query.Aggregates.Function, from value: Value) {
        switch (function, value) {
        case (.count, .int(let count)) where Self.counts.contains(count): self = .count(Int(count))
        case (.value(.sum, _, let type), .list(let parts)):
            guard let sum = FigureSum(of: type, parts: parts[...]) else { return nil }
            self = .sum(sum)
        case (.value(.average, _, let type), .list(let parts)):
            guard case .int(let count)? = parts.first, Self.counts.contains(count),
                let sum = FigureSum(of: type, parts: parts.dropFirst())
            else { return nil }
            self = .average(sum, count: Int(count))
        case (.value(let operation, _, let type), _) where operation == .minimum || operation == .maximum:
            guard let fitting = value.isNull ? value : PropertyType(.scalar(type)).nearest(value)
            else { return nil }
            self = .extreme(FigureExtremes(isMaximum: operation == .maximum, knowing: fitting))
        default: return nil
        }
    }

    /// Adds an object, or takes one away that was added.
    ///
    /// - Parameter value: the value of the function's path.
    mutating func change(by value: Value, isAdded: Bool) {
        switch self {
        case .count(let count): self = .count(isAdded ? count + 1 : count - 1)
        case .sum(var sum):
            // Moved out, so that it is changed in place.
            self = .count(0)
            sum.change(by: value, isAdded: isAdded)
            self = .sum(sum)
        case .average(var sum, let count):
            self = .count(0)
            sum.change(by: value, isAdded: isAdded)
            self = .average(sum, count: value.isNull ? count : isAdded ? count + 1 : count - 1)
        case .extreme(var extremes):
            self = .count(0)
            extremes.change(by: value, isAdded: isAdded)
            self = .extreme(extremes)
        }
    }

    /// The figure in the form in which it is sent and stored; see ``GroupFigures``.
    package var value: Value {
        switch self {
        case .count(let count): .int(Int64(count))
        case .sum(let sum): .list(sum.parts)
        case .average(let sum, let count): .list([.int(Int64(count))] + sum.parts)
        case .extreme(let extremes): extremes.first
        }
    }

    /// What the function gives: as an aggregate of the same values in a condition does, for decimals rounded once.
    package var result: Value {
        switch self {
        case .count(let count): .int(Int64(count))
        case .sum(let sum): sum.result
        case .average(let sum, let count): count > 0 ? sum.divided(by: count) : .null
        case .extreme(let extremes): extremes.first
        }
    }

    /// Whether the result is that of all values that are in the group: false for an extreme that has gone, until what
    /// follows it is read, and for a sum that was infinite or NaN when it was sent.
    package var isExact: Bool {
        switch self {
        case .count: true
        case .sum(let sum), .average(let sum, _): sum.isExact
        case .extreme(let extremes): extremes.isKnown
        }
    }
}
