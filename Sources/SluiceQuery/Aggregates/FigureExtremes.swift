internal import SluiceModel

/// The least or greatest of values that come and go: the first few, each with how often it is there.
///
/// All values up to the last that is held are held. What is beyond is not, unless everything is. So as long as one is
/// held the first is the extreme; when all have gone the next ones must be read, as for a window that is empty.
package struct FigureExtremes: Sendable {
    /// How many different values are held at least after they have been read, if there are that many.
    static let countMin = 64
    /// How many different values are held at most.
    static let countMax = 128

    private let isMaximum: Bool
    /// The first values, in order, each once.
    private var values: [(value: Value, count: Int)] = []
    private var isWhole = true
    /// What was the first value when all that are held had gone.
    private var former = Value.null

    init(isMaximum: Bool) { self.isMaximum = isMaximum }

    /// Of some values of which only the first is known.
    init(isMaximum: Bool, knowing first: Value) {
        self.isMaximum = isMaximum
        guard !first.isNull else { return }
        values = [(first, 1)]
        isWhole = false
    }

    /// The extreme; null if there is none.
    var first: Value { values.first?.value ?? former }

    /// Whether ``first`` is the extreme of all values. If it is not, the next ones must be read.
    var isKnown: Bool { isWhole || !values.isEmpty }

    /// Forgets all values, before they are added anew.
    mutating func reset() { self = FigureExtremes(isMaximum: isMaximum) }

    private func compare(_ left: Value, _ right: Value) -> Int {
        isMaximum ? Value.compare(right, left) : Value.compare(left, right)
    }

    /// The position of the first held value that does not come before another.
    private func place(of value: Value) -> Int {
        var (low, high) = (0, values.count)
        while low < high {
            let middle = (low + high) / 2
            if compare(values[middle].value, value) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }

    mutating func change(by value: Value, isAdded: Bool) {
        guard !value.isNull, !value.isNotANumber, isKnown else { return }
        let place = place(of: value)
        let isHeld = place < values.count && compare(values[place].value, value) == 0
        guard isAdded else {
            guard isHeld else { return }
            values[place].count -= 1
            guard values[place].count == 0 else { return }
            if values.count == 1, !isWhole { former = values[0].value }
            values.remove(at: place)
            return
        }
        if isHeld {
            values[place].count += 1
        } else if isWhole || place < values.count {
            values.insert((value, 1), at: place)
            guard values.count > Self.countMax else { return }
            values.removeSubrange(Self.countMin...)
            isWhole = false
        }
    }
}
