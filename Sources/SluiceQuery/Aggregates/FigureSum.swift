internal import FoundationEssentials
internal import SluiceModel

/// A sum of numbers of one type that come and go, which stays exact until it is read.
///
/// Integers are added in 128 bits, floating-point numbers in an ``ExactSum``, decimals in a ``DecimalSum``. Infinities and
/// NaNs are counted, so that they can go too.
package struct FigureSum: Sendable {
    private enum Total: Sendable {
        case int(Int128)
        case double(Boxed<ExactSum>)
        case decimal(DecimalSum)
    }

    /// Holds a large value outside, so that a group of few sums is small. It is copied before it is changed by two.
    private final class Boxed<Content: Sendable>: @unchecked Sendable {
        var content: Content
        init(_ content: Content) { self.content = content }
    }

    private let type: ScalarType
    private var total: Total
    private var notANumberCount = 0
    private var infinityCount = 0
    private var negativeInfinityCount = 0
    /// Whether infinities and NaNs are counted, and not only known to be there.
    private(set) var isExact = true

    init(of type: ScalarType) {
        self.type = type
        switch type {
        case .int: total = .int(0)
        case .decimal: total = .decimal(DecimalSum())
        default: total = .double(Boxed(ExactSum()))
        }
    }

    /// The sum of numbers; nil if one is none, or of another type than sums of this type have.
    init?(of type: ScalarType, parts: ArraySlice<Value>) {
        self.init(of: type)
        guard parts.count <= Self.partCountMax else { return nil }
        for part in parts {
            switch (type, part) {
            case (.int, .int): change(by: part, isAdded: true)
            case (.int, .decimal(let number)):
                // Sums of as many integers as there can be have less than 2^112.
                guard case .int(let sum) = total, let large = Int128("\(number)"), large.magnitude < 1 << 112 else {
                    return nil
                }
                total = .int(sum + large)
            case (.decimal, .decimal): change(by: part, isAdded: true)
            case (.float, .double), (.double, .double): change(by: part, isAdded: true)
            case (.float, .list(let large)), (.double, .list(let large)):
                guard addLarge(large) else { return nil }
            // The property had a narrower type when the sum was made.
            case (.float, .int(let number)), (.double, .int(let number)): change(by: Double(number), true)
            case (.decimal, .int(let number)): change(by: .decimal(Decimal(number)), isAdded: true)
            case (.float, .decimal(let number)), (.double, .decimal(let number)):
                change(by: Double("\(number)") ?? .nan, true)
            default: return nil
            }
        }
        isExact = notANumberCount + infinityCount + negativeInfinityCount == 0
    }

    /// The most numbers that ``parts`` gives.
    static let partCountMax = 64

    mutating func change(by value: Value, isAdded: Bool) {
        switch value {
        case .int(let number):
            guard case .int(let sum) = total else { return }
            total = .int(isAdded ? sum + Int128(number) : sum - Int128(number))
        case .float(let number): change(by: Double(number), isAdded)
        case .double(let number): change(by: number, isAdded)
        case .decimal(let number):
            guard case .decimal(var sum) = total else { return }
            if number.isNaN {
                notANumberCount += isAdded ? 1 : -1
            } else {
                total = .int(0)
                sum.add(number, isNegated: !isAdded)
                total = .decimal(sum)
            }
        default: return
        }
    }

    private mutating func change(by number: Double, _ isAdded: Bool) {
        guard case .double(var sum) = total else { return }
        guard number.isFinite else {
            if number.isNaN {
                notANumberCount += isAdded ? 1 : -1
            } else if number > 0 {
                infinityCount += isAdded ? 1 : -1
            } else {
                negativeInfinityCount += isAdded ? 1 : -1
            }
            return
        }
        total = .int(0)
        if !isKnownUniquelyReferenced(&sum) { sum = Boxed(sum.content) }
        sum.content.add(isAdded ? number : -number)
        total = .double(sum)
    }

    /// Adds numbers that ``parts`` gives apart, since they are beyond the range of doubles.
    ///
    /// - Returns: false if one is no such number.
    private mutating func addLarge(_ numbers: [Value]) -> Bool {
        guard case .double(let sum) = total, numbers.count <= Self.partCountMax else { return false }
        for number in numbers {
            guard case .double(let number) = number, number.isFinite else { return false }
            sum.content.add(number, shiftedBy: ExactSum.largeShift)
        }
        return true
    }

    /// NaN or an infinity, if the sum is one; nil for a sum that is finite.
    private var special: Double? {
        if notANumberCount > 0 || infinityCount > 0 && negativeInfinityCount > 0 { return .nan }
        return infinityCount > 0 ? .infinity : negativeInfinityCount > 0 ? -.infinity : nil
    }

    /// The sum, rounded once; null if its type cannot hold it.
    var result: Value {
        switch total {
        case .int(let sum): Int64(exactly: sum).map { .int($0) } ?? .null
        case .double(let sum): .double(special ?? sum.content.divided(by: 1))
        case .decimal(let sum): special != nil ? .decimal(.nan) : sum.rounded.map { .decimal($0) } ?? .null
        }
    }

    /// The sum divided by a positive number.
    func divided(by count: Int) -> Value {
        switch total {
        case .int(let sum):
            var parts = ExactSum()
            var rest = sum
            var scale = 1.0
            while rest != 0, rest != -1 {
                parts.add(Double(UInt32(truncatingIfNeeded: rest)) * scale)
                rest >>= 32
                scale *= 0x1p32
            }
            if rest == -1 { parts.add(-scale) }
            return .double(parts.divided(by: count))
        case .double(let sum): return .double(special ?? sum.content.divided(by: count))
        case .decimal: return Arithmetic.apply(.divide, result, .decimal(Decimal(count)), as: .decimal)
        }
    }

    /// Numbers whose exact sum this is: none for zero. An integer, or a decimal where 64 bits do not hold the sum of
    /// integers; doubles; decimals. Before doubles there may be a list of doubles that count 2^64 times. A sum of infinities
    /// or NaNs is what they give.
    var parts: [Value] {
        if let special { return [type == .decimal ? .decimal(.nan) : .double(special)] }
        switch total {
        case .int(0): return []
        case .int(let sum):
            if let small = Int64(exactly: sum) { return [.int(small)] }
            return (try? DecimalText.parse(sum.description)).map { [.decimal($0)] } ?? []
        case .double(let sum):
            let (large, others) = sum.content.parts
            return (large.isEmpty ? [] : [.list(large.map { .double($0) })]) + others.map { .double($0) }
        case .decimal(let sum): return sum.parts.map { .decimal($0) }
        }
    }
}
