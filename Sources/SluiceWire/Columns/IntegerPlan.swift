/// How a column of integers is written in the fewest bytes.
struct IntegerPlan {
    let form: IntegerSequence.Form
    /// The size in bytes, with the byte that names the form.
    let size: Int
    /// What packed numbers are distances from.
    fileprivate(set) var minimum: Int64 = 0
    /// The width of packed numbers, in bits.
    fileprivate(set) var width = 0
    /// The code of coded numbers.
    fileprivate(set) var code: GolombCode?
    /// What multiples are written as.
    fileprivate(set) var multiples: Multiples?

    /// Numbers that differ by multiples of a factor.
    final class Multiples {
        let factor: UInt64
        let offset: Int64
        /// The numbers less the offset, by the factor.
        let quotients: [Int64]
        let plan: IntegerPlan

        fileprivate init(of values: [Int64], factor: UInt64, offset: Int64) {
            self.factor = factor
            self.offset = offset
            quotients = values.map { value in
                let distance = (value &- offset).magnitude / factor
                return value < offset ? -Int64(distance) : Int64(distance)
            }
            plan = IntegerPlan(quotients, isQuotient: true)
        }

        fileprivate var size: Int {
            1 + IntegerSequence.varintSize(factor) + IntegerSequence.varintSize(ZigZag.encode(offset)) + plan.size
        }
    }

    private init(form: IntegerSequence.Form, size: Int) {
        self.form = form
        self.size = size
    }

    /// Chooses the form.
    ///
    /// - Parameter isQuotient: whether the values are the quotients of multiples, which are no multiples again.
    init(_ values: [Int64], isQuotient: Bool = false) {
        guard let first = values.first else {
            self.init(form: .constant, size: 0)
            return
        }
        var minimum = first
        var maximum = first
        var leastStep = Int64.max
        var greatestStep = Int64.min
        var plain = 0
        let firstSize = IntegerSequence.varintSize(ZigZag.encode(first))
        var delta = firstSize
        var previous = first
        for (index, value) in values.enumerated() {
            minimum = min(minimum, value)
            maximum = max(maximum, value)
            plain += IntegerSequence.varintSize(ZigZag.encode(value))
            if index > 0 {
                let step = value &- previous
                leastStep = min(leastStep, step)
                greatestStep = max(greatestStep, step)
                delta += IntegerSequence.varintSize(ZigZag.encode(step))
            }
            previous = value
        }
        if minimum == maximum {
            self.init(form: .constant, size: 1 + firstSize)
            return
        }
        var best = IntegerPlan(form: .plain, size: 1 + plain)
        func offer(_ form: IntegerSequence.Form, _ size: Int, _ complete: (inout IntegerPlan) -> Void = { _ in }) {
            guard size < best.size else { return }
            best = IntegerPlan(form: form, size: size)
            complete(&best)
        }
        offer(.delta, 1 + delta)
        let width = BitPacking.width(of: UInt64(bitPattern: maximum &- minimum))
        if let packed = BitPacking.size(count: values.count, width: width) {
            offer(.packed, 2 + IntegerSequence.varintSize(ZigZag.encode(minimum)) + packed) {
                $0.minimum = minimum
                $0.width = width
            }
        }
        let stepWidth = BitPacking.width(of: UInt64(bitPattern: greatestStep &- leastStep))
        if let packed = BitPacking.size(count: values.count - 1, width: stepWidth) {
            let size = 2 + firstSize + IntegerSequence.varintSize(ZigZag.encode(leastStep)) + packed
            offer(.deltaPacked, size) {
                $0.minimum = leastStep
                $0.width = stepWidth
            }
        }
        // A code takes no less than a bit, and seldom less than two.
        if values.count >= GolombCode.countMin, best.size > values.count / 4 {
            let steps = zip(values.dropFirst(), values).map { $0 &- $1 }
            let coded = GolombCode.best(for: values)
            let codedSteps = GolombCode.best(for: steps)
            if let codedSteps, codedSteps.bitCount < coded?.bitCount ?? .max {
                offer(.deltaCoded, 1 + firstSize + codedSteps.code.size(of: steps)) { $0.code = codedSteps.code }
            } else if let coded {
                offer(.coded, 1 + coded.code.size(of: values)) { $0.code = coded.code }
            }
            if !isQuotient, let factor = Self.factor(of: values, from: minimum, to: maximum) {
                let multiples = Multiples(of: values, factor: factor, offset: first)
                offer(.multiples, multiples.size) { $0.multiples = multiples }
            }
        }
        self = best
    }

    /// The greatest factor of all differences; nil if that is 1, or a difference takes more than 63 bits.
    private static func factor(of values: [Int64], from minimum: Int64, to maximum: Int64) -> UInt64? {
        guard !maximum.subtractingReportingOverflow(minimum).overflow else { return nil }
        var factor: UInt64 = 0
        for value in values {
            var rest = UInt64(value - minimum)
            guard factor != 0 else {
                factor = rest
                continue
            }
            rest %= factor
            while rest != 0 { (factor, rest) = (rest, factor % rest) }
            if factor == 1 { return nil }
        }
        return factor
    }
}
